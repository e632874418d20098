// `composed` on the backend `tensorflow`, driven by child-process.ts.
import { attend, causal, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs';
import { chooseBackend } from '../../backends/backend';
import { readJob, serve } from '../child-program';
import { tensorsOf } from '../head-tensors';
import { gradientsOf } from '../tuned-tfjs';

const { work, folder, inputs } = readJob();

await serve(folder, async () => {
  await chooseBackend('tensorflow');
  const { binding } = tf.backend() as unknown as { readonly binding?: { readonly TF_Version?: string } };
  const tensors = tensorsOf(work, inputs);
  const options = work.causal ? { mask: causal() } : {};
  const output = (query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D) =>
    attend(composed(), { query, key, value }, options).output;
  return {
    op: 'composed',
    version: binding?.TF_Version ?? 'of an unknown version',
    run: () =>
      work.gradients ? gradientsOf(output, tensors) : [output(tensors.query, tensors.key, tensors.value)],
    numbers: (results) => results.map((result) => result.dataSync<'float32'>()),
    dispose: (results) => tf.dispose(results),
  };
});
