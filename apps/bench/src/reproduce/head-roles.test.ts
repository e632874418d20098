import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { type HeadObservation, observeHeads, summarizeHeads } from './head-roles';

it('sees even heads as horizontal, and a silent head as making no difference', async () => {
  const before = tf.memory().numTensors;
  const layer = new MultiHeadAttention({ embedDim: 8, numHeads: 2, scale: 0, seed: 1 });
  const silence = tf.tensor2d(
    Array.from({ length: 64 }, (_, n) => Number(n % 8 < 4)), // head 1 owns columns 4 to 7
    [8, 8],
  );
  tf.tidy(() => layer.setWeights({ ...layer.getWeights(), 'value/kernel': silence }));
  const input = tf.randomNormal<tf.Rank.R3>([1, 16, 8], 0, 1, 'float32', 2);
  const held = tf.memory().numTensors;
  const heads = await observeHeads(layer, input);
  expect(tf.memory().numTensors).toBe(held);
  expect(heads.map(({ pattern }) => pattern)).toEqual(['horizontal', 'horizontal']);
  expect(heads[0]!.entropy).toBeCloseTo(Math.log(16), 5);
  expect(heads[0]!.ablation).toBeCloseTo(1, 5);
  expect(heads[1]!.ablation).toBe(0);
  layer.dispose();
  tf.dispose([silence, input]);
  expect(tf.memory().numTensors).toBe(before);
});

it('names the pattern found most often, with means of the rest', () => {
  const seen = (pattern: HeadObservation['pattern'], n: number) => ({
    pattern,
    entropy: n,
    distance: 2 * n,
    ablation: 0.1,
  });
  const sentences = [[seen('local', 1)], [seen('vertical', 2)], [seen('local', 3)], [seen('mixed', 4)]];
  expect(summarizeHeads(sentences)).toEqual([
    { pattern: 'local', patternShare: 0.5, entropy: 2.5, distance: 5, ablation: expect.closeTo(0.1, 12) },
  ]);
});
