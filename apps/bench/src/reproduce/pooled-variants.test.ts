import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { cosineSimilarities, poolLayer } from './pooled-variants';

it('measures angles, token by token', () => {
  const one = tf.tensor3d([1, 0, 1, 1, 3, 4], [1, 3, 2]);
  const other = tf.tensor3d([0, 2, 2, 2, -3, -4], [1, 3, 2]);
  const [right, none, straight] = cosineSimilarities(one, other);
  expect(right).toBeCloseTo(0, 12);
  expect(none).toBeCloseTo(1, 12);
  expect(straight).toBeCloseTo(-1, 12);
});

it('is the layer itself with all heads, and another with fewer', () => {
  const before = tf.memory().numTensors;
  const layer = new MultiHeadAttention({ embedDim: 12, numHeads: 4, useBias: true, seed: 1 });
  const query = tf.randomNormal<tf.Rank.R3>([1, 5, 12], 0, 1, 'float32', 2);
  const variants = poolLayer(layer, [4, 2, 1]);
  const similarities = variants.map(({ attention }) =>
    tf.tidy(() => {
      const [original, pooled] = [layer, attention].map((each) => each.apply({ query }).output);
      return Math.min(...cosineSimilarities(original!, pooled!));
    }),
  );
  expect(similarities[0]).toBeCloseTo(1, 6);
  expect(similarities[1]).toBeLessThan(0.999);
  expect(similarities[2]).toBeLessThan(0.999);
  // Query and output 2 (144 + 12), key and value 2 (12 · 3 Hkv + 3 Hkv); a token is 2 · 3 Hkv numbers of 4 bytes.
  expect(variants.map(({ parameters }) => parameters)).toEqual([624, 468, 390]);
  expect(variants.map(({ cacheBytesPerToken }) => cacheBytesPerToken)).toEqual([96, 48, 24]);
  for (const { attention } of variants) attention.dispose();
  layer.dispose();
  query.dispose();
  expect(tf.memory().numTensors).toBe(before);
});
