import { expect, it } from 'vitest';
import { type Measure, ratioOf, reaches, showBound, showRatio } from './gate';

it.each<[Measure, number, string, string]>([
  ['speed', 4, '4 ×', '≥ 4 ×'],
  ['share', 4, '400 %', '≥ 400 %'],
  ['time', 0.25, '0.25 ×', '≤ 0.25 ×'],
  ['time share', 0.25, '25 %', '≤ 25 %'],
  ['more', -30, '-30 ms', '≤ -30 ms'],
])('%s of 10 ms beside 40 ms', (measure, ratio, shown, bound) => {
  expect(ratioOf(measure, 10, 40)).toBe(ratio);
  expect(showRatio(measure, ratio)).toBe(shown);
  expect(showBound(measure, ratio)).toBe(bound);
});

it('holds at the bound and on its better side', () => {
  for (const measure of ['speed', 'share'] as const) {
    expect([0.9, 1, 1.1].map((ratio) => reaches(measure, ratio, 1))).toEqual([false, true, true]);
  }
  for (const measure of ['time', 'time share', 'more'] as const) {
    expect([0.9, 1, 1.1].map((ratio) => reaches(measure, ratio, 1))).toEqual([true, true, false]);
  }
});
