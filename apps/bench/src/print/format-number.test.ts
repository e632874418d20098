import { expect, it } from 'vitest';
import { atMost, count, percent, threeDigits, times } from './format-number';

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

it('writes a bound in one digit, never below the number', () => {
  expect([1.44e-6, 1e-6, 3.2e-7, 9.5e-7, 2.9e-7].map(atMost)).toEqual([
    '2e-6',
    '1e-6',
    '4e-7',
    '1e-6',
    '3e-7',
  ]);
  expect(atMost(0)).toBe('0e+0');
});
