// What TensorFlow.js does beneath: kernels, memory, gradients that nobody registered.
import { attend, composed, isAttentionError } from '@polyhead/core';
import { project } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { attentionCase } from './attention-case';
import { attendWith, kernelGradients, kernelNumbers, toTensors } from './kernel-run';
import { expectSameMemory, memoryNow } from './memory';
import { expectNumbers, zeroScores } from './scene';

const rich = attentionCase({
  sizes: { B: 2, Hq: 4, Hkv: 2, Sq: 40, Skv: 50, D: 33, Dv: 18 },
  mask: 'causal dense [1, Hq, Sq, Skv]',
  bias: '[1, Hq, Sq, Skv]',
  softcap: 3,
  sinkLogits: true,
  dropout: 0.2,
  returns: ['weights', 'logSumExp'],
});

describe('projections', () => {
  it('M1: have the right gradient', () => {
    const x = tf.tensor3d([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2]);
    const gradient = tf.grad((kernel) => tf.sum(project(x, kernel)))(tf.ones([2, 2]));
    expect(gradient.shape).toEqual([2, 2]);
    expectNumbers(gradient, [16, 16, 20, 20]);
  });

  it('M5: keep a batch of 1', () => {
    expect(project(tf.ones([1, 2, 3]), tf.ones([3, 4])).shape).toEqual([1, 2, 4]);
  });
});

describe('M2: keys of batch 1 for queries of batch 2', () => {
  it('are refused before anything is computed, with both shapes', () => {
    const { query, key, value } = zeroScores(2, [1, 3]);
    const inputs = { query: tf.concat([query, query], 0), key, value };
    const before = memoryNow();
    for (const call of [
      () => attend(composed(), inputs),
      () => tf.grad((k) => tf.sum(attend(composed(), { ...inputs, key: k as tf.Tensor4D }).output))(key),
    ]) {
      expect(call).toThrow(/query +\[2, 1, 2, 1\][\s\S]*key +\[1, 1, 2, 1\]/);
    }
    expectSameMemory(before);
  });
});

describe('M3: every kernel that attention needs', () => {
  it.each(['cpu', 'wasm'])('is there on %s', async (backend) => {
    const { kernelNames } = await tf.profile(async () => {
      await kernelNumbers(composed(), rich);
      await kernelGradients(composed(), rich);
      return tf.scalar(0);
    });
    const named = kernelNames.filter((name) => name !== 'unnamed scope'); // the body of a custom gradient
    expect(named).toEqual(expect.arrayContaining(['Softmax', 'Tanh']));
    expect(named.filter((name) => !tf.getKernel(name, backend))).toEqual([]);
  });
});

describe('M6: a call outside of tidy', () => {
  it('adds exactly its results', () => {
    const [tensors, options] = [toTensors(rich.arrays), rich.options()];
    const before = memoryNow();
    const { kernel, ...results } = attendWith(composed(), tensors, options);
    expect(kernel).toBe('composed');
    expect(tf.memory().numTensors - before.numTensors).toBe(3);
    tf.dispose(results);
    expectSameMemory(before);
  });
});

describe('M11: without registered gradients', () => {
  it('a gradient says what to import; a plain call needs none', () => {
    const gradient = tf.getGradient('Reshape');
    tf.unregisterGradient('Reshape');
    try {
      const scene = zeroScores(1, [1, 3]);
      const { output } = attend(composed(), scene);
      expectNumbers(output, [2]);
      const train = () =>
        tf.grad((query) => tf.sum(attend(composed(), { ...scene, query: query as tf.Tensor4D }).output))(
          scene.query,
        );
      expect(train).toThrow(/import '@tensorflow\/tfjs'/);
      expect(train).toThrow(expect.toSatisfy(isAttentionError));
    } finally {
      tf.registerGradient(gradient);
    }
  });
});

describe('tensors of another backend', () => {
  it('are taken where they lie', async () => {
    const here = tf.getBackend();
    await tf.setBackend('cpu');
    const [tensors, options] = [toTensors(rich.arrays), rich.options()];
    await tf.setBackend(here);
    const { output } = attendWith(composed(), tensors, options);
    const { output: expected } = await kernelNumbers(composed(), rich);
    expectNumbers(output, [...expected!]);
  });
});
