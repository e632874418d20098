import * as tf from '@tensorflow/tfjs-core';
import { type RowSource, type RowTarget, rowOf } from './copy-rows';
import type { RowLayout } from './row-layout';

/** True where scattering rows is the fastest way to write them, as measured: by TensorFlow's own library. */
export function scattersFast(): boolean {
  return tf.getBackend() === 'tensorflow';
}

/**
 * A copy of the target with the source's tokens at their places, in one operation instead of slices that are joined. The
 * scatter operations of graphics cards compare each number with each token: there it is no way to write a prompt.
 *
 * @returns [target.layout.rows, size]
 */
export function scatterRows(source: RowSource, target: RowTarget): tf.Tensor2D {
  const from = rowsOf(source.layout, source.counts);
  if (from.length === 0) return tf.clone(target.data);
  const to = rowsOf(target.layout, source.counts, target.at);
  const rows = tf.reshape<tf.Rank.R2>(source.data, [source.layout.rows, target.data.shape[1]]);
  const isAll = from.length === source.layout.rows && from.every((row, n) => row === n);
  const updates = isAll ? rows : tf.gather(rows, tf.tensor1d(from, 'int32'));
  return tf.tensorScatterUpdate(
    target.data,
    tf.tensor2d(to, [to.length, 1], 'int32'),
    updates,
  ) as tf.Tensor2D;
}

/** The row of each token that counts, of those behind `at[b]` others. */
function rowsOf(layout: RowLayout, counts: readonly number[], at?: readonly number[]): number[] {
  return counts.flatMap((count, b) =>
    Array.from({ length: layout.heads }, (_, h) => rowOf(layout, b, h) + (at?.[b] ?? 0)).flatMap((first) =>
      Array.from({ length: count }, (_, s) => first + s),
    ),
  );
}
