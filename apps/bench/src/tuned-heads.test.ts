import { attend, causal, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { causalBias, tunedHeads } from './tuned-heads';

it('is the same attention as ours, causal and not', () => {
  const [query, key, value] = [1, 2, 3].map((seed) =>
    tf.randomNormal<tf.Rank.R4>([1, 3, 7, 5], 0, 1, 'float32', seed),
  ) as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D];
  for (const isCausal of [true, false]) {
    const ours = attend(composed, { query, key, value }, isCausal ? { mask: causal() } : {}).output;
    const peer = tunedHeads(query, key, value, isCausal ? causalBias(7) : undefined);
    expect(tf.max(tf.abs(tf.sub(ours, peer))).dataSync()[0]).toBeLessThan(1e-6);
  }
});
