import { causal } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { checkLayer } from './layer-check';
import { sampleLayer } from './sampled-layer';

const layer = () => new MultiHeadAttention({ embedDim: 12, numHeads: 3, seed: 1 });
const query = () => tf.randomNormal<tf.Rank.R3>([2, 5, 12], 0, 1, 'float32', 2);

function check(change: Partial<Record<'headOutputs' | 'output', tf.Tensor>>) {
  const [attention, input] = [layer(), query()];
  const sampled = sampleLayer(attention, { heads: [0, 2], columns: [0, 7] });
  const result = attention.apply({ query: input }, { mask: causal(), returns: ['headOutputs'] });
  const error = () =>
    checkLayer(sampled, { what: 'this', query: input }, { ...result, ...change } as typeof result);
  try {
    return error();
  } finally {
    attention.dispose();
  }
}

it('is content with float32', () => {
  expect(check({})).toBeLessThan(2e-6);
});

it('refuses wrong heads, a wrong output, and NaN', () => {
  const message = /^this: the output is off by .* more than 1e-5; a wrong answer is not timed$/;
  expect(() => check({ headOutputs: tf.zeros([2, 3, 5, 4]) })).toThrow(message);
  expect(() => check({ output: tf.ones([2, 5, 12]) })).toThrow(message);
  expect(() => check({ output: tf.fill([2, 5, 12], Number.NaN) })).toThrow('off by NaN');
});
