import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { allowedError } from '../measure/relative-error';
import { openArena } from './arena';
import { batchedStep, causalBias, splitHeads, splitStep, tunedHeads } from './tuned-tfjs';

const many = { heads: 6, keyValueHeads: 3, queries: 7, keys: 7, headDim: 5 };
const one = { heads: 6, keyValueHeads: 3, queries: 1, keys: 7, headDim: 5, causal: false };

it('is attention head by head, causal and not', () => {
  for (const causal of [true, false]) {
    const { tensors, check } = openArena({ ...many, causal }, 1);
    const output = tunedHeads(tensors, causal ? causalBias(7) : undefined);
    expect(output.shape).toEqual([1, 6, 7, 5]);
    expect(check([output.dataSync<'float32'>()])).toBeLessThan(allowedError);
  }
});

it('is attention of one token, from keys and values together or apart', () => {
  const { tensors, check } = openArena(one, 1);
  const steps = [batchedStep(tensors), splitStep(tensors.query, splitHeads(tensors.key, tensors.value))];
  for (const output of steps) {
    expect(output.shape).toEqual([1, 6, 1, 5]);
    expect(check([output.dataSync<'float32'>()])).toBeLessThan(allowedError);
  }
});

it('leaves its result alone in memory', () => {
  const { tensors } = openArena({ ...many, causal: false }, 1);
  const before = tf.memory().numTensors;
  tunedHeads(tensors, undefined).dispose();
  expect(tf.memory().numTensors).toBe(before);
});
