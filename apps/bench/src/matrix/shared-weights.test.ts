import { GroupedQueryAttention } from '@polyhead/grouped-query';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { sharedWeights } from './shared-weights';

it('holds once what layers have in common, and leaves nothing behind', () => {
  const before = tf.memory();
  const shared = sharedWeights();
  const layers = [4, 2].map(
    (numKeyValueHeads) =>
      new GroupedQueryAttention(
        { embedDim: 12, numHeads: 4, numKeyValueHeads, seed: 1 },
        { initializer: shared.initializer },
      ),
  );
  shared.dispose();
  // Query and output are one for both; keys and values are not, nor are they each other's. What tensors share in
  // TensorFlow's own library lies beneath what is counted.
  const buffers = tf.memory().numDataBuffers - before.numDataBuffers;
  if (tf.getBackend() !== 'tensorflow') expect(buffers).toBe(2 + 2 * 2);
  const kernels = layers[0]!.variables.map(({ variable }) => variable.dataSync().join());
  expect(new Set(kernels).size).toBe(4);
  expect(layers[1]!.variables[0]!.variable.dataSync().join()).toBe(kernels[0]);
  for (const layer of layers) layer.dispose();
  expect(tf.memory().numTensors).toBe(before.numTensors);
  expect(tf.memory().numDataBuffers).toBe(before.numDataBuffers);
});
