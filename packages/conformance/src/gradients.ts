// Gradients of a function of host arrays, by central differences: right whatever the derivation of a kernel says.

/**
 * d loss / d array, one entry after the other: `(loss(x + h) - loss(x - h)) / 2h`, exact to about h² in doubles.
 * `entries` limits the work on large arrays; the others stay NaN.
 */
export function centralDifferences(
  loss: () => number,
  array: Float64Array,
  entries: Iterable<number> = array.keys(),
  step = 1e-4,
): Float64Array {
  const gradient = new Float64Array(array.length).fill(Number.NaN);
  for (const n of entries) {
    const original = array[n]!;
    array[n] = original + step;
    const above = loss();
    array[n] = original - step;
    const below = loss();
    array[n] = original;
    gradient[n] = (above - below) / (2 * step);
  }
  return gradient;
}

/** Σ value · cotangent. Entries of -Infinity (the log-sum-exp of a row that sees nothing) are constants. */
export function weightedSum(value: Float64Array, cotangent: Float64Array): number {
  let sum = 0;
  for (let n = 0; n < value.length; n++) {
    if (value[n] !== Number.NEGATIVE_INFINITY) sum += value[n]! * cotangent[n]!;
  }
  return sum;
}
