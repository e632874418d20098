import * as tf from '@tensorflow/tfjs-core';
import { emptyOnHeap, floatsOnHeap, hasWasmHeap } from './wasm-heap';

/**
 * A tensor whose numbers a loop writes on the host; on wasm they are written where they stay.
 *
 * @param write is given room for all numbers, whatever it holds; it must not make tensors
 */
export function writeTensor<R extends tf.Rank>(
  shape: tf.ShapeMap[R],
  write: (numbers: Float32Array) => void,
): tf.Tensor<R> {
  if (hasWasmHeap()) {
    const tensor = emptyOnHeap<R>(shape);
    write(floatsOnHeap(tensor));
    return tensor;
  }
  const numbers = new Float32Array(tf.util.sizeFromShape([...shape]));
  write(numbers);
  return tf.tensor(numbers, [...shape] as unknown as tf.ShapeMap[R]);
}
