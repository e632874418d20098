import * as tf from '@tensorflow/tfjs-core';

const backends = new Set(['cpu', 'wasm', 'tensorflow']);

/** True where the numbers of a tensor can be read without waiting for a device. */
export function hasSynchronousRead(): boolean {
  return backends.has(tf.getBackend());
}
