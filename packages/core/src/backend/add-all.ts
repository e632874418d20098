import * as tf from '@tensorflow/tfjs-core';

/** WebGPU gives a program eight buffers, one of them for the result. tfjs asks for more, and gets zeros. */
const atOnce = 7;

/** The sum of tensors of one shape. */
export function addAll<T extends tf.Tensor>(tensors: readonly T[]): T {
  if (tensors.length <= atOnce) return tf.addN([...tensors]);
  return addAll([tf.addN(tensors.slice(0, atOnce)), ...tensors.slice(atOnce)]);
}
