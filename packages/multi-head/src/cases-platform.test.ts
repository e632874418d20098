// What TensorFlow.js does beneath a layer: memory, batches of 1, gradients that nobody registered.
import { expectSameMemory, memoryNow, randomTensor, seededRandom, toTensor } from '@polyhead/conformance';
import { causal } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { MultiHeadAttention } from './index';

const random = (shape: number[], seed: number) =>
  toTensor(randomTensor(shape, seededRandom(seed))) as tf.Tensor3D;

describe('a layer', () => {
  const config = { embedDim: 6, numHeads: 2 };

  it('M2: keys of batch 1 for queries of batch 2 are refused, with both shapes', () => {
    const layer = new MultiHeadAttention(config);
    const call = () => layer.apply({ query: tf.ones([2, 3, 6]), key: tf.ones([1, 3, 6]) });
    expect(call).toThrow(/query +\[2, 3, 6\][\s\S]*key +\[1, 3, 6\]/);
  });

  it('M5: a batch of 1 stays', () => {
    expect(new MultiHeadAttention(config).apply({ query: tf.ones([1, 2, 6]) }).output.shape).toEqual([
      1, 2, 6,
    ]);
  });

  it('M6: a call adds one tensor', () => {
    const [layer, query] = [new MultiHeadAttention(config), tf.ones<tf.Rank.R3>([1, 2, 6])];
    const before = memoryNow();
    const { output } = layer.apply({ query }, { mask: causal() });
    expect(tf.memory().numTensors - before.numTensors).toBe(1);
    output.dispose();
    expectSameMemory(before);
  });

  it('M7: twenty training steps add nothing after the first', () => {
    const [layer, query] = [new MultiHeadAttention({ ...config, dropout: 0.2 }), random([2, 3, 6], 10)];
    const optimizer = tf.train.sgd(0.1);
    const step = (seed: number) =>
      optimizer.minimize(() =>
        tf.mean(tf.square(layer.apply({ query }, { mask: causal(), training: { seed } }).output)),
      );
    step(0);
    const before = memoryNow();
    for (let seed = 1; seed <= 20; seed++) step(seed);
    expectSameMemory(before);
  });

  it('M8: a disposed layer leaves nothing', () => {
    const query = tf.ones<tf.Rank.R3>([1, 2, 6]);
    const before = memoryNow();
    const layer = new MultiHeadAttention({ ...config, useBias: true, numMemoryKeyValues: 1 });
    layer.apply({ query }).output.dispose();
    layer.dispose();
    expectSameMemory(before);
  });

  it('M11: training without registered gradients says what to import, and leaves nothing', () => {
    const [layer, query] = [new MultiHeadAttention(config), tf.ones<tf.Rank.R3>([1, 2, 6])];
    const gradient = tf.getGradient('Reshape');
    tf.unregisterGradient('Reshape');
    const before = memoryNow();
    try {
      expect(layer.apply({ query }).output.shape).toEqual([1, 2, 6]);
      expect(() => tf.variableGrads(() => tf.sum(layer.apply({ query }).output))).toThrow(
        /import '@tensorflow\/tfjs'/,
      );
    } finally {
      tf.registerGradient(gradient);
    }
    expect(tf.memory().numTensors - before.numTensors).toBe(1);
  });
});
