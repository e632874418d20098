import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { fromSequenceMajor, mergeHeads, splitHeads } from './heads';

describe('heads', () => {
  it('own contiguous channels: [B, S, H * D] is [B, H, S, D]', () => {
    const embedding = tf.reshape(tf.range(0, 60), [2, 3, 10]) as tf.Tensor3D;
    const heads = splitHeads(embedding, 5);
    expect(heads.shape).toEqual([2, 5, 3, 2]);
    // Entry 1, head 4, token 2 holds channels 8 and 9 of that token.
    expect([...tf.slice(heads, [1, 4, 2, 0], [1, 1, 1, 2]).dataSync()]).toEqual([58, 59]);
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
