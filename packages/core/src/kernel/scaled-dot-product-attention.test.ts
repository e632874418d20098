import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { validLengths } from '../masks/valid-lengths';
import { scaledDotProductAttention } from './scaled-dot-product-attention';

describe('scaledDotProductAttention', () => {
  it('weighs every key the same where all scores are the same', () => {
    const query = tf.zeros([1, 2, 4]) as tf.Tensor3D;
    const value = tf.tensor3d([[[1], [2], [6]]]);
    const { output, weights } = scaledDotProductAttention(query, tf.ones([1, 3, 4]) as tf.Tensor3D, value);
    expect(output.shape).toEqual([1, 2, 1]);
    for (const x of output.dataSync()) expect(x).toBeCloseTo(3, 6);
    for (const w of weights.dataSync()) expect(w).toBeCloseTo(1 / 3, 6);
  });

  // Zhang et al., Dive into Deep Learning, section 11.3: ten keys of ones, values 0 … 39, valid lengths 2 and 6.
  it('gives the numbers of the textbook example', () => {
    const queries = tf.randomNormal([2, 1, 2], 0, 1, 'float32', 1) as tf.Tensor3D;
    const keys = tf.ones([2, 10, 2]) as tf.Tensor3D;
    const values = tf.tile(tf.reshape(tf.range(0, 40), [1, 10, 4]), [2, 1, 1]) as tf.Tensor3D;
    const { output, weights } = scaledDotProductAttention(queries, keys, values, {
      mask: validLengths([2, 6]),
    });
    const expected = [2, 3, 4, 5, 10, 11, 12, 13];
    [...output.dataSync()].forEach((x, i) => {
      expect(x).toBeCloseTo(expected[i]!, 4);
    });
    const rows = weights.arraySync() as number[][][];
    expect(rows[0]![0]!.slice(2)).toEqual(Array(8).fill(0));
    expect(rows[1]![0]!.slice(6)).toEqual(Array(4).fill(0));
  });

  it('gives rows of weights that sum to 1, for (2, 8, 10, 64)', () => {
    const x = tf.randomNormal([2, 8, 10, 64], 0, 1, 'float32', 2) as tf.Tensor4D;
    const { output, weights } = scaledDotProductAttention(x, x, x);
    expect(output.shape).toEqual([2, 8, 10, 64]);
    expect(weights.shape).toEqual([2, 8, 10, 10]);
    for (const sum of tf.sum(weights, -1).dataSync()) expect(sum).toBeCloseTo(1, 6);
  });

  it('names the argument whose rank differs', () => {
    const x = tf.zeros([1, 2, 4]) as tf.Tensor3D;
    expect(() => scaledDotProductAttention(x, tf.zeros([2, 4]) as never, x)).toThrow(/key must have rank 3/);
  });
});
