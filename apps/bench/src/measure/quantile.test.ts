import { expect, it } from 'vitest';
import { quantile, spreadOf } from './quantile';

it('interpolates between neighbours, whatever their order', () => {
  expect(quantile([30, 10, 20, 40], 0.5)).toBe(25);
  expect(quantile([1, 2, 3], 0.5)).toBe(2);
  expect(quantile([0, 10], 0.9)).toBe(9);
  expect(quantile([7], 0.1)).toBe(7);
});

it('refuses to summarize nothing', () => {
  expect(() => quantile([], 0.5)).toThrow('no samples');
});

it('summarizes by the median, quarters and tenths', () => {
  const samples = Array.from({ length: 11 }, (_, n) => n);
  expect(spreadOf(samples)).toEqual({ samples: 11, p10: 1, p25: 2.5, median: 5, p75: 7.5, p90: 9 });
});
