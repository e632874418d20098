// Rows written where a tensor lies. The only place that changes the numbers of a tensor.
import type * as tf from '@tensorflow/tfjs-core';
import { floatsOf } from './floats';
import type { RowLayout } from './row-layout';

/** The first `counts[b]` tokens of each batch entry. */
export interface RowSource {
  readonly data: tf.Tensor; // float32, rows in the last axis
  readonly layout: RowLayout;
  readonly counts: readonly number[]; // [B]
}

export interface RowTarget {
  readonly data: tf.Tensor2D;
  readonly layout: RowLayout;
  readonly at: readonly number[]; // [B], tokens that stand before the new ones
}

/** Writes tokens into a tensor, whoever else holds it. Call it only where `reachesFloats`. */
export function copyRows(source: RowSource, target: RowTarget): void {
  const size = target.data.shape[1];
  const [from, to] = floatsOf(source.data, target.data);
  source.counts.forEach((count, b) => {
    if (count === 0) return;
    for (let h = 0; h < target.layout.heads; h++) {
      const first = rowOf(source.layout, b, h) * size;
      const place = (rowOf(target.layout, b, h) + target.at[b]!) * size;
      to.set(from.subarray(first, first + count * size), place);
    }
  });
}

/** The row of the first token of a head. */
export function rowOf({ first, headStride }: RowLayout, b: number, h: number): number {
  return first[b]! + h * headStride;
}
