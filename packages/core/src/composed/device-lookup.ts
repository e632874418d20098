// `lookup` and `accumulate` by operations, where reading back would wait for a device. Heads lie innermost, so that the
// index has a number for each pair and no more. There is no flat index, which WebGL knows to 2^24 only, and no scatter,
// which compares each target with each number there.
import * as tf from '@tensorflow/tfjs-core';
import { backendTraits } from '../backend/traits';
import type { Along, PairIndex } from './pair-index';

const oneHotNumbers = 2 ** 20; // at once

/** @returns [b, h, rows, columns] */
export function lookupOnDevice(x: tf.Tensor4D, index: PairIndex, along: Along): tf.Tensor4D {
  const { batch, rows, columns, size } = index;
  const { outer, inner, at } = laidOut(index, along);
  const tables = x.shape[0] < batch ? tf.tile(x, [batch, 1, 1, 1]) : x; // one for each entry that stands elsewhere
  const [b, h] = tables.shape;
  const m = (b / batch) * h;
  const byRow = tf.reshape(
    along === 'key'
      ? tf.transpose(tf.reshape(tables, [batch, m, size, columns]), [0, 3, 2, 1])
      : tf.transpose(tf.reshape(tables, [batch, m, outer, size]), [0, 2, 3, 1]),
    [batch * outer, size, m],
  );
  const withZeros = tf.pad(byRow, [
    [0, 0],
    [0, 1],
    [0, 0],
  ]); // for pairs that have no row
  const gathered = tf.gather(withZeros, tf.tensor2d(at, [batch * outer, inner], 'int32'), 1, 1);
  const pairs =
    along === 'key'
      ? tf.transpose(tf.reshape(gathered, [batch, columns, rows, m]), [0, 3, 2, 1])
      : tf.transpose(tf.reshape(gathered, [batch, rows, columns, m]), [0, 3, 1, 2]);
  return tf.reshape(pairs, [b, h, rows, columns]);
}

/** @param y [b, h, rows, columns] */
export function accumulateOnDevice(y: tf.Tensor4D, index: PairIndex, along: Along): tf.Tensor4D {
  if (along === 'neither') return tf.sum(accumulateOnDevice(y, index, 'query'), 2, true);
  const [b, h] = y.shape;
  const { batch, rows, columns, size } = index;
  const { outer, inner, at } = laidOut(index, along);
  const m = (b / batch) * h;
  const byPair = tf.reshape<tf.Rank.R3>(
    tf.transpose(tf.reshape(y, [batch, m, rows, columns]), along === 'key' ? [0, 3, 1, 2] : [0, 2, 1, 3]),
    [batch * outer, m, inner],
  );
  const sums = tf.reshape(timesOneHot(byPair, at, size), [batch, outer, m, size]);
  return along === 'key'
    ? tf.reshape(tf.transpose(sums, [0, 2, 3, 1]), [b, h, size, columns])
    : tf.reshape(tf.transpose(sums, [0, 2, 1, 3]), [b, h, rows, size]);
}

/** The index as [batch, outer, inner]: pairs of one outer number take their rows from one table. */
function laidOut({ rows, columns, at }: PairIndex, along: Along) {
  if (along === 'query') return { outer: rows, inner: columns, at };
  if (along === 'neither') return { outer: 1, inner: rows * columns, at };
  const byColumn = at.map((_, n) => {
    const [entry, j, i] = [Math.floor(n / (rows * columns)), Math.floor(n / rows) % columns, n % rows];
    return at[(entry * rows + i) * columns + j]!;
  });
  return { outer: columns, inner: rows, at: byColumn };
}

/**
 * Sums of the numbers that share a row.
 *
 * @param y [n, m, inner]
 * @param at [n, inner], the row of each; `size` where there is none
 * @returns [n, m, size]
 */
function timesOneHot(y: tf.Tensor3D, at: Int32Array, size: number): tf.Tensor3D {
  const [n, m, inner] = y.shape;
  const thatFit = Math.floor(oneHotNumbers / Math.max(1, inner * size));
  const atOnce = Math.min(backendTraits().maxDispatch, Math.max(1, thatFit));
  const parts: tf.Tensor3D[] = [];
  for (let from = 0; from < n; from += atOnce) {
    const count = Math.min(atOnce, n - from);
    parts.push(
      tf.tidy(() => {
        const rows = tf.tensor3d(
          at.subarray(from * inner, (from + count) * inner),
          [count, inner, 1],
          'int32',
        );
        const oneHot = tf.cast(tf.equal(rows, tf.range(0, size, 1, 'int32')), 'float32'); // [count, inner, size]
        return tf.matMul(tf.slice(y, [from, 0, 0], [count, m, inner]), oneHot as tf.Tensor3D);
      }),
    );
  }
  return parts.length === 1 ? parts[0]! : tf.concat(parts, 0);
}
