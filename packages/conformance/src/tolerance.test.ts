import { describe, expect, it } from 'vitest';
import { composedBound, maxError, relativeBound } from './tolerance';

const numbers = Float64Array.of(0.5, -4, Number.NEGATIVE_INFINITY);
const expected = { data: numbers, maxAbsScore: 3, isGradient: false };

describe('tolerance', () => {
  it('holds composed to 2e-6 of the largest number, and to more where scores are large', () => {
    expect(composedBound(expected)).toBeCloseTo(8e-6, 12);
    expect(composedBound({ ...expected, maxAbsScore: 1000 }) / composedBound(expected)).toBeCloseTo(10, 9);
  });

  it('leaves gradients room for terms that cancel', () => {
    expect(composedBound({ ...expected, isGradient: true })).toBeCloseTo(24e-6 + 2e-6, 12);
    expect(composedBound({ ...expected, data: Float64Array.of(0) })).toBe(0);
  });

  it('holds others to what composed misses: twice, and three times for gradients', () => {
    const slope = (isGradient: boolean) =>
      relativeBound({ ...expected, isGradient }, 2) - relativeBound({ ...expected, isGradient }, 1);
    expect(slope(false)).toBeCloseTo(2, 9);
    expect(slope(true)).toBeCloseTo(3, 9);
  });

  it('takes the largest difference', () => {
    expect(maxError(Float64Array.of(0.5, -4.5, Number.NEGATIVE_INFINITY), numbers)).toBe(0.5);
  });

  it.each([
    ['a number for -Infinity', Float64Array.of(0.5, -4, 0)],
    ['+Infinity for -Infinity', Float64Array.of(0.5, -4, Number.POSITIVE_INFINITY)],
    ['NaN for a number', Float64Array.of(Number.NaN, -4, Number.NEGATIVE_INFINITY)],
    ['a missing entry', Float64Array.of(0.5, -4)],
  ])('never forgives %s', (_, actual) => {
    expect(maxError(actual, numbers)).toBe(Number.POSITIVE_INFINITY);
  });

  it('takes -0 for 0', () => {
    expect(maxError(Float64Array.of(-0), Float64Array.of(0))).toBe(0);
  });
});
