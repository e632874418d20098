// Products of heads, with the query heads of a group folded into the rows of their key/value head, so that keys and
// values are never repeated: [B, Hq, R, ...] is [B * Hkv, G * R, ...] as it lies.
//
// On wasm the backend multiplies two matrices without a transpose flag about 12 times faster than any other form. One
// head at a time is brought to that form; transposes are of the narrow operand only.
import * as tf from '@tensorflow/tfjs-core';
import type { Span } from '../contract/mask';
import { fullAxis, sliceBox } from './slice-box';
import { emptyOnHeap, hasWasmHeap, viewsOnHeap } from './wasm-heap';

/**
 * x y^T for each head.
 *
 * @param x [B, Hq, R, N]
 * @param y [B, Hkv, C, N]
 * @returns [B, Hq, R, C]
 */
export function timesTransposed(x: tf.Tensor4D, y: tf.Tensor4D): tf.Tensor4D {
  const [B, Hkv, C] = y.shape;
  const rows = fold(x, B * Hkv);
  const product = isOneMatrix(y)
    ? tf.matMul(rows, transposed(fold(y, 1)))
    : tf.matMul(rows, fold(y, B * Hkv), false, true);
  return tf.reshape(product, [B, x.shape[1], x.shape[2], C]);
}

/**
 * x y for each head.
 *
 * @param x [B, Hq, R, C]
 * @param y [B, Hkv, C, N]
 * @returns [B, Hq, R, N]
 */
export function times(x: tf.Tensor4D, y: tf.Tensor4D): tf.Tensor4D {
  const [B, Hkv, , N] = y.shape;
  const product = tf.matMul(fold(x, B * Hkv), fold(y, B * Hkv));
  return tf.reshape(product, [B, x.shape[1], x.shape[2], N]);
}

/**
 * x^T y for each key/value head, summed over the query heads of its group.
 *
 * @param x [B, Hq, R, C]
 * @param y [B, Hq, R, N]
 * @returns [B, Hkv, C, N]
 */
export function transposedTimes(x: tf.Tensor4D, y: tf.Tensor4D, Hkv: number): tf.Tensor4D {
  const B = x.shape[0];
  // x is the wide one: (y^T x)^T transposes only the narrow operand and the narrow result.
  const product =
    B * Hkv === 1 && hasWasmHeap()
      ? transposed(tf.matMul(transposed(fold(y, 1)), fold(x, 1)))
      : tf.matMul(fold(x, B * Hkv), fold(y, B * Hkv), true, false);
  return tf.reshape(product, [B, Hkv, x.shape[3], y.shape[3]]);
}

// On wasm a product adds its terms one after the other, in float32: with 8,192 of them the error is twice what attention
// may have, with 1,024 and then 8 it is a third of that.
const termsPerSum = 1024;

/**
 * `times` where the inner axis is the keys, of which there may be many: in shorter sums, which are nearer the truth.
 * Products of weight matrices are not split, since the backend keeps them packed from call to call.
 *
 * @param x [B, Hq, R, Skv]
 * @param y [B, Hkv, Skv, N]
 * @returns [B, Hq, R, N]
 */
export function timesOverKeys(x: tf.Tensor4D, y: tf.Tensor4D): tf.Tensor4D {
  const Skv = y.shape[2];
  if (!isOneMatrix(y) || Skv <= termsPerSum) return times(x, y);
  let total: tf.Tensor4D | undefined;
  for (let from = 0; from < Skv; from += termsPerSum) {
    const keys: Span = [from, Math.min(Skv, from + termsPerSum)];
    const columns = sliceBox(x, [fullAxis(x, 0), fullAxis(x, 1), fullAxis(x, 2), keys]);
    const part = times(columns, sliceBox(y, [fullAxis(y, 0), fullAxis(y, 1), keys, fullAxis(y, 3)]));
    total = total ? tf.add(total, part) : part;
  }
  return total!;
}

function isOneMatrix(y: tf.Tensor4D): boolean {
  return y.shape[0] * y.shape[1] === 1 && hasWasmHeap();
}

function fold(x: tf.Tensor4D, matrices: number): tf.Tensor3D {
  const [B, H, R, N] = x.shape;
  return tf.reshape(x, [matrices, (B * H * R) / matrices, N]);
}

/** [1, R, C] as [1, C, R]; on the heap in tiles, 4 times faster than the backend's transpose. */
function transposed(x: tf.Tensor3D): tf.Tensor3D {
  const [, R, C] = x.shape;
  const result = emptyOnHeap<tf.Rank.R3>([1, C, R]);
  const [from, to] = viewsOnHeap(x, result);
  const tile = 16; // 16 floats fill a cache line
  for (let r0 = 0; r0 < R; r0 += tile) {
    const r1 = Math.min(R, r0 + tile);
    for (let c = 0; c < C; c++) {
      for (let r = r0; r < r1; r++) to[c * R + r] = from[r * C + c]!;
    }
  }
  return result;
}
