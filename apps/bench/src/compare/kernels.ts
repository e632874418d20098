// The kernels that are compared: the fastest of the current backend, and the one that is made of TensorFlow.js operations.
import { type AttentionKernel, composed, firstSupported } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import * as tf from '@tensorflow/tfjs-core';

/** The fastest first; `composed` is the second where it is not the fastest itself. */
export function comparedKernels(): AttentionKernel[] {
  const fastest = firstSupported([flash(), composed()]);
  const plain = composed();
  const head = tf.zeros<tf.Rank.R4>([1, 1, 1, 1]);
  const chosen = fastest.explain({ query: head, key: head, value: head }).at(-1)!;
  head.dispose();
  return chosen.kernel === plain.name ? [fastest] : [fastest, plain];
}
