import { expect, it } from 'vitest';
import { relativeError } from './relative-error';

it('is the largest difference as a share of the largest number', () => {
  expect(relativeError([1, -2.5, 4], [1, -2, 5])).toBeCloseTo(0.2, 12);
  expect(relativeError([3], [3])).toBe(0);
});

it('is no number where one is none, where the lengths differ, and where there is nothing', () => {
  expect(relativeError([1, Number.NaN], [1, 2])).toBeNaN();
  expect(relativeError([1, 2], [1])).toBeNaN();
  expect(relativeError([], [])).toBeNaN();
});
