import * as tf from '@tensorflow/tfjs-core';

/** Milliseconds until the numbers are on the host: a backend may compute later than it returns. */
export async function timeOutput(run: () => tf.Tensor): Promise<number> {
  const start = performance.now();
  const output = tf.tidy(run);
  await output.data();
  const elapsed = performance.now() - start;
  output.dispose();
  return elapsed;
}
