// Rows assembled by tfjs operations, where the numbers of tensors cannot be reached.
import * as tf from '@tensorflow/tfjs-core';
import type { RowSource } from './copy-rows';
import type { RowLayout } from './row-layout';

/**
 * The tokens of each source behind those of the one before, then zeros. Call it inside a tidy. A slice alone may share the
 * memory of its source, which nobody can write here.
 *
 * @param size numbers a row
 * @returns [target.rows, size]
 */
export function assembleByOps(sources: readonly RowSource[], target: RowLayout, size: number): tf.Tensor2D {
  if (target.rows === 0) return tf.zeros([0, size]);
  const entries = target.first.map((_, b) => sources.flatMap((source) => tokensOf(source, b, size)));
  // Batch entries share each head's rows, or each has heads of its own.
  const shareHeads = target.headStride * target.heads === target.rows;
  const filled = (shareHeads ? [entries.flat()] : entries).map((pieces) => fill(pieces, target, size));
  const all = filled.length === 1 ? filled[0]! : tf.concat(filled, 0);
  return tf.reshape(all, [target.rows, size]);
}

/** The tokens of a batch entry, [H, count, size]; nothing where there are none. */
function tokensOf({ data, layout, counts }: RowSource, b: number, size: number): tf.Tensor3D[] {
  const { headStride, heads, rows, first } = layout;
  if (counts[b] === 0) return [];
  const perHead = tf.reshape<tf.Rank.R3>(data, [rows / headStride, headStride, size]);
  const [head, row] = [Math.floor(first[b]! / headStride), first[b]! % headStride];
  return [tf.slice(perHead, [head, row, 0], [heads, counts[b]!, size])];
}

/** The pieces, then zeros up to the next head: [H, headStride, size]. */
function fill(pieces: readonly tf.Tensor3D[], { heads, headStride }: RowLayout, size: number): tf.Tensor3D {
  const missing = pieces.reduce((room, piece) => room - piece.shape[1], headStride);
  const all = missing > 0 ? [...pieces, tf.zeros<tf.Rank.R3>([heads, missing, size])] : [...pieces];
  return all.length === 1 ? all[0]! : tf.concat(all, 1);
}
