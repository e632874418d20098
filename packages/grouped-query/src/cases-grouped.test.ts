// Cases D: each stands for a kind of fault that grouped heads have had elsewhere.
import { attend, composed, dense, fromSequenceMajor, splitHeads } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { GroupedQueryAttention } from './index';

/** Values that are the same number throughout a head: [1, H, Skv, 1]. */
const constantHeads = (...numbers: number[]): tf.Tensor4D =>
  tf.mul(tf.ones([1, numbers.length, 3, 1]), tf.tensor4d(numbers, [1, numbers.length, 1, 1]));

/** The one number of each head's first row. */
const firstRows = (output: tf.Tensor4D) => {
  const numbers = tf.slice(output, [0, 0, 0, 0], [1, output.shape[1], 1, 1]).dataSync();
  return [...numbers].map((x) => Math.round(x * 1e4) / 1e4);
};

describe('grouped heads', () => {
  const zeroQueries = () => tf.zeros<tf.Rank.R4>([1, 4, 2, 1]); // every key gets the same weight
  const keys = (H: number) => tf.ones<tf.Rank.R4>([1, H, 3, 1]);

  it('D1: read adjacent key/value heads, not in turn', () => {
    const { output } = attend(composed(), {
      query: zeroQueries(),
      key: keys(2),
      value: constantHeads(10, 20),
    });
    expect(firstRows(output)).toEqual([10, 10, 20, 20]);
  });

  it('D3: all read the only key/value head', () => {
    const { output } = attend(composed(), { query: zeroQueries(), key: keys(1), value: constantHeads(7) });
    expect(firstRows(output)).toEqual([7, 7, 7, 7]);
  });

  it('D8: are the head axis in both layouts, though there are as many tokens', () => {
    const [T, H, D] = [2, 2, 3];
    const x = tf.reshape(tf.range(0, T * 4 * D), [1, T, 4 * D]) as tf.Tensor3D;
    const y = tf.reshape(tf.range(0, T * H * D), [1, T, H * D]) as tf.Tensor3D;
    const bySplitting = { query: splitHeads(x, 4), key: splitHeads(y, H), value: splitHeads(y, H) };
    const asSequences = (z: tf.Tensor3D, heads: number) => fromSequenceMajor(tf.reshape(z, [1, T, heads, D]));
    const byLayout = { query: asSequences(x, 4), key: asSequences(y, H), value: asSequences(y, H) };
    const [one, other] = [bySplitting, byLayout].map((inputs) =>
      attend(composed(), inputs).output.dataSync(),
    );
    expect(one).toEqual(other);
    // With large scores each row sees the last token alone: heads 0 and 1 read channels 0 … 2 of it, 2 and 3 the rest.
    const last = attend(composed(), bySplitting, { scale: 100 }).output;
    expect(firstRows(last)).toEqual([6, 6, 9, 9]);
  });

  it('D10: a mask of one query head changes that head alone', () => {
    const value: tf.Tensor4D = tf.add(constantHeads(10, 20), tf.tensor4d([0, 3, 6], [1, 1, 3, 1]));
    const hidden = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1]; // head 1 does not see key 0
    const mask = dense(tf.tensor4d(hidden, [1, 4, 1, 3], 'int32'));
    const { output } = attend(composed(), { query: zeroQueries(), key: keys(2), value }, { mask });
    const expected = [13, 14.5, 23, 23];
    firstRows(output).forEach((x, h) => {
      expect(x).toBeCloseTo(expected[h]!, 5);
    });
  });

  it('D2 and D4: the layer is multi-head attention at its limit, and with the weights of groups repeated', () => {
    const grouped = new GroupedQueryAttention({ embedDim: 8, numHeads: 2, numKeyValueHeads: 1, seed: 1 });
    const multi = new MultiHeadAttention({ embedDim: 8, numHeads: 2, seed: 1 });
    const weights = grouped.getWeights();
    const twice = (name: string) => tf.tile(weights[name]!, [1, 2]);
    multi.setWeights({
      ...weights,
      'key/kernel': twice('key/kernel'),
      'value/kernel': twice('value/kernel'),
    });
    const x = tf.randomNormal<tf.Rank.R3>([2, 4, 8], 0, 1, 'float32', 3);
    const difference = tf.sub(grouped.apply({ query: x }).output, multi.apply({ query: x }).output);
    expect(tf.max(tf.abs(difference)).dataSync()[0]).toBeLessThan(1e-6);
    grouped.dispose();
    multi.dispose();
  });

  it.each([
    [3, 2],
    [33, 2],
    [4, 0],
  ])('D5: %i query heads over %i key/value heads throw, with both numbers', (Hq, Hkv) => {
    const inputs = {
      query: tf.zeros<tf.Rank.R4>([1, Hq, 2, 4]),
      key: tf.zeros<tf.Rank.R4>([1, Hkv, 3, 4]),
      value: tf.zeros<tf.Rank.R4>([1, Hkv, 3, 4]),
    };
    expect(() => attend(composed(), inputs)).toThrow(
      new RegExp(`\\[1, ${Hq}, 2, 4\\][\\s\\S]*\\[1, ${Hkv}, 3, 4\\]`),
    );
  });
});
