// Whether the numbers of a tensor are finite, read only where no device has to be waited for.
import * as tf from '@tensorflow/tfjs-core';
import { backendTraits } from './traits';
import { floatsOnHeap, hasWasmHeap } from './wasm-heap';

// Sums of a few products of rows do not overflow either, though each may be as large.
const largestSquare = 1e37;

/** True where x is known to hold neither NaN nor Infinity; false, too, where reading it would wait for a device. */
export function allFinite(x: tf.Tensor): boolean {
  return isKnown(x, () => Number.isFinite(numberOf(tf.sum(tf.mul(x, 0))))); // 0 * NaN and 0 * Infinity are NaN
}

/** As `allFinite`; and no product of two rows that are known to be so can overflow (Cauchy and Schwarz). */
export function allBounded(x: tf.Tensor): boolean {
  return isKnown(x, () => sumOfSquares(x) <= largestSquare);
}

// Up to here a loop costs less than two operations.
const fewNumbers = 2 ** 12;

function sumOfSquares(x: tf.Tensor): number {
  if (x.size > fewNumbers || !hasWasmHeap()) return numberOf(tf.sum(tf.square(x)));
  const numbers = floatsOnHeap(x);
  let sum = 0;
  for (let n = 0; n < numbers.length; n++) sum += numbers[n]! * numbers[n]!;
  return sum;
}

function isKnown(x: tf.Tensor, holds: () => boolean): boolean {
  if (x.size === 0) return true;
  if (!backendTraits().synchronousRead) return false;
  return tf.tidy(holds);
}

function numberOf(x: tf.Tensor): number {
  return x.dataSync()[0]!;
}
