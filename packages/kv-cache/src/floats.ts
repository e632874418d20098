// Numbers of tensors where they lie, on the backends that let us reach them.
import { emptyOnHeap, hasWasmHeap, viewsOnHeap } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';

interface CpuBackend {
  readonly data: { get(id: object): { readonly values: Float32Array } };
}

/** True where the numbers of tensors can be read and written where they lie: on cpu and wasm. */
export function reachesFloats(): boolean {
  return tf.getBackend() === 'cpu' || hasWasmHeap();
}

/** The numbers of two tensors, until the next allocation. */
export function floatsOf(one: tf.Tensor, other: tf.Tensor): readonly [Float32Array, Float32Array] {
  if (hasWasmHeap()) return viewsOnHeap(one, other);
  const { data } = tf.backend() as unknown as CpuBackend;
  return [data.get(one.dataId).values, data.get(other.dataId).values];
}

/** Rows whose numbers are still to be written: they may be anything, NaN too. */
export function emptyRows(rows: number, size: number): tf.Tensor2D {
  return hasWasmHeap() ? emptyOnHeap<tf.Rank.R2>([rows, size]) : tf.zeros([rows, size]);
}
