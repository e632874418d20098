import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { fromSequenceMajor, mergeHeads, splitHeads } from './heads';

describe('heads', () => {
  it.each([2, 40])('own contiguous channels: [B, S, H * D] is [B, H, S, D], D = %i', (D) => {
    const embedding = tf.reshape(tf.range(0, 30 * D), [2, 3, 5 * D]) as tf.Tensor3D;
    const heads = splitHeads(embedding, 5);
    expect(heads.shape).toEqual([2, 5, 3, D]);
    for (const [b, h, s] of [
      [1, 4, 2],
      [0, 3, 1],
      [1, 0, 2],
    ] as const) {
      // Head h of a token holds its channels from h D on.
      const channels = Array.from({ length: D }, (_, d) => (b * 3 + s) * 5 * D + h * D + d);
      expect([...tf.slice(heads, [b, h, s, 0], [1, 1, 1, D]).dataSync()]).toEqual(channels);
    }
    expect(mergeHeads(heads).dataSync()).toEqual(embedding.dataSync());
  });

  it('have the sizes of the textbook example: 100 hidden, 5 heads', () => {
    expect(splitHeads(tf.zeros([2, 4, 100]), 5).shape).toEqual([2, 5, 4, 20]);
  });

  it('come from the layout [B, S, H, D] too', () => {
    const sequenceMajor = tf.reshape(tf.range(0, 24), [1, 3, 2, 4]) as tf.Tensor4D;
    const merged = tf.reshape(sequenceMajor, [1, 3, 8]) as tf.Tensor3D;
    expect(fromSequenceMajor(sequenceMajor).dataSync()).toEqual(splitHeads(merged, 2).dataSync());
  });

  it('refuse a width that does not divide', () => {
    expect(() => splitHeads(tf.zeros([1, 2, 10]), 3)).toThrow(
      /multiple of the number of heads[\s\S]*numHeads +3/,
    );
  });
});
