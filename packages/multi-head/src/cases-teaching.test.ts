// The numbers of the usual teaching texts.
import { numbersOf } from '@polyhead/conformance';
import { countParameters, scaledDotProductAttention, validLengths } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { MultiHeadAttention, variableShapes } from './index';

describe('Dive into Deep Learning', () => {
  it('2 sequences of 4 queries and 6 keys, 100 hidden units, 5 heads, valid lengths 3 and 2', () => {
    const layer = new MultiHeadAttention({ embedDim: 100, numHeads: 5, dropout: 0.5 });
    const inputs = { query: tf.ones<tf.Rank.R3>([2, 4, 100]), key: tf.ones<tf.Rank.R3>([2, 6, 100]) };
    const mask = validLengths([3, 2]);
    const { output, headOutputs, weights } = layer.apply(inputs, {
      mask,
      returns: ['headOutputs', 'weights'],
    });
    expect(output.shape).toEqual([2, 4, 100]);
    expect(headOutputs!.shape).toEqual([2, 5, 4, 20]);
    const rows = [
      [1 / 3, 1 / 3, 1 / 3, 0, 0, 0],
      [1 / 2, 1 / 2, 0, 0, 0, 0],
    ];
    const expected = rows.flatMap((row) =>
      Array<number[]>(5 * 4)
        .fill(row)
        .flat(),
    );
    expect(numbersOf(weights!)).toEqual(expected.map((x) => expect.closeTo(x, 6)));
  });
});

describe('The Annotated Transformer', () => {
  it('2 sequences of 10 tokens, 8 heads of 64: the weights of each query sum to 1', () => {
    const heads = (seed: number) => tf.randomNormal<tf.Rank.R4>([2, 8, 10, 64], 0, 1, 'float32', seed);
    const { output, weights } = scaledDotProductAttention(heads(1), heads(2), heads(3));
    expect(output.shape).toEqual([2, 8, 10, 64]);
    expect(weights.shape).toEqual([2, 8, 10, 10]);
    expect(numbersOf(tf.sum(weights, 3))).toEqual(Array(160).fill(expect.closeTo(1, 5)));
  });
});

describe('the number of parameters', () => {
  it.each([
    [512, 8, false, 1_048_576],
    [512, 8, true, 1_050_624],
    [768, 12, false, 2_359_296],
    [12288, 96, false, 603_979_776],
  ])(
    'of width %d and %d heads, useBias %s, is %d, counted without allocating',
    (embedDim, numHeads, useBias, count) => {
      const before = tf.memory().numTensors;
      expect(countParameters(variableShapes({ embedDim, numHeads, useBias }))).toBe(count);
      expect(tf.memory().numTensors).toBe(before);
    },
  );

  it('does not depend on the number of heads', () => {
    const counts = [1, 2, 4, 8, 16].map((numHeads) =>
      countParameters(variableShapes({ embedDim: 64, numHeads })),
    );
    expect(new Set(counts)).toEqual(new Set([4 * 64 * 64]));
  });
});
