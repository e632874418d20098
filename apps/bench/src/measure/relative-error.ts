// How far numbers are from those expected of them.

/** Float32 sums, four projections deep, miss doubles by about 1e-6 of the largest number. */
export const allowedError = 1e-5;

/** The largest difference, as a share of the largest number expected. NaN where there is one, or nothing to compare. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  let difference = actual.length === expected.length ? 0 : Number.NaN;
  let largest = 0;
  for (let n = 0; n < expected.length; n++) {
    difference = Math.max(difference, Math.abs(actual[n]! - expected[n]!)); // keeps NaN
    largest = Math.max(largest, Math.abs(expected[n]!));
  }
  return difference / largest;
}
