import { expect, it } from 'vitest';
import { count, percent, threeDigits, times } from './format-number';

it('writes numbers in few digits', () => {
  expect(count(1_048_576)).toBe('1,048,576');
  expect([0.1234, 5.678, 56.78, 567.8, 5678.9].map(threeDigits)).toEqual([
    '0.12',
    '5.68',
    '56.8',
    '568',
    '5,679',
  ]);
  expect([1, 1.634, 0.5, 32].map(times)).toEqual(['1 ×', '1.63 ×', '0.50 ×', '32 ×']);
  expect(percent(0.256)).toBe('26 %');
});
