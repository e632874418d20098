// How far from the oracle a kernel may be. One rule, and no number in any test.
//
// `composed` is held to 2e-6 of the largest expected number, and to more where scores are large: a score of 1000 is known
// to 6e-5 in float32, and softmax passes that on. Its gradients are allowed three times as much, as products of such sums,
// and a floor: where the terms of a sum cancel (each around 1 here) what is left is known to about 1e-6, not to a part of
// itself. A derivative along a direction of length 1 is allowed what an entry of its gradient is: rounding errors do not
// know the direction.
// TensorFlow's softmax has all weights of a row too small by up to 6e-8, even where a row has one weight.
// Every other kernel is held to twice the error of `composed` on the same backend, three times for gradients. Its floor is
// half of what `composed` is allowed, since `composed` may be right by luck.

const relative = 2e-6;
const gradientFloor = 2e-6;

/** What a result is compared with. */
export interface Expected {
  readonly data: Float64Array;
  /** What errors are a part of. Default: the largest of the expected numbers. */
  readonly magnitude?: number | undefined;
  readonly maxAbsScore: number;
  readonly isGradient: boolean;
}

/** The largest error `composed` may have. */
export function composedBound({ data, magnitude = maxAbs(data), maxAbsScore, isGradient }: Expected): number {
  const bound = relative * magnitude;
  return Math.max(1, maxAbsScore / 100) * (isGradient ? 3 * bound + gradientFloor : bound);
}

/** The largest error another kernel may have, from the error of `composed` on this backend. */
export function relativeBound(expected: Expected, composedError: number): number {
  return (expected.isGradient ? 3 : 2) * composedError + composedBound(expected) / 2;
}

/** The largest difference. Infinite unless both are not a number, or the same infinity, in the same entries. */
export function maxError(actual: Float64Array, expected: Float64Array): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  return actual.reduce((worst, value, n) => Math.max(worst, differenceOf(value, expected[n]!)), 0);
}

function differenceOf(a: number, b: number): number {
  if (Object.is(a, b)) return 0;
  const difference = Math.abs(a - b);
  return Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
}

/** The largest size of a finite entry; 0 where there is none. */
export function maxAbs(data: Float64Array): number {
  return data.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0);
}
