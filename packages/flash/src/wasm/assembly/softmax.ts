// Softmax of rows whose scores come tile after tile (Milakov and Gimelshein 2018, 1805.02867), four rows side by side.
import { Call } from './call';
import { exp, larger, NEGATIVE_INFINITY, tanh } from './simd';

/**
 * Takes in the scores of `count` keys for four rows, and leaves exp(score - rowMax) in their place.
 *
 * @param factors gets what earlier sums and outputs are to be multiplied by
 */
export function updateSoftmax(
  scores: usize,
  count: i32,
  rowMaxAt: usize,
  rowSumAt: usize,
  factors: usize,
): void {
  const end = scores + ((count as usize) << 5);
  const before = v128.load(rowMaxAt);
  let max0 = before;
  let max1 = before;
  let at = scores;
  for (; at + 32 < end; at += 64) {
    max0 = larger(max0, v128.load(at));
    max1 = larger(max1, v128.load(at, 32));
  }
  if (at < end) max0 = larger(max0, v128.load(at));
  const rowMax = larger(max0, max1);
  v128.store(rowMaxAt, rowMax);
  // A row that has seen nothing yet: any number serves, but infinity less infinity is none.
  const subtracted = v128.andnot(rowMax, f32x4.eq(rowMax, f32x4.splat(NEGATIVE_INFINITY)));
  const factor = exp(f32x4.sub(before, subtracted));
  v128.store(factors, factor);
  let sum = f32x4.splat(0);
  for (at = scores; at < end; at += 32) {
    const weight = exp(f32x4.sub(v128.load(at), subtracted));
    v128.store(at, weight);
    sum = f32x4.add(sum, weight);
  }
  v128.store(rowSumAt, f32x4.add(f32x4.mul(v128.load(rowSumAt), factor), sum));
}

/**
 * `score = softcap · tanh(score / softcap)`.
 *
 * @param tanhs gets the tangents, from which the gradient is made; 0: nobody asks
 */
export function capScores(call: Call, scores: usize, count: i32, tanhs: usize): void {
  const cap = f32x4.splat(call.softcap);
  const inverse = f32x4.splat(call.inverseCap);
  const end = scores + ((count as usize) << 5);
  for (; scores < end; scores += 16) {
    const tangent = tanh(f32x4.mul(v128.load(scores), inverse));
    v128.store(scores, f32x4.mul(cap, tangent));
    if (tanhs === 0) continue;
    v128.store(tanhs, tangent);
    tanhs += 16;
  }
}
