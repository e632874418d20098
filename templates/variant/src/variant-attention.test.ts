import { scaledDotProductAttention } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { VariantAttention, variableShapes } from './index';

describe('VariantAttention', () => {
  it('with identity projections and one head is scaled dot-product attention', () => {
    const layer = new VariantAttention({ embedDim: 3, numHeads: 1 });
    const names = Object.keys(variableShapes({ embedDim: 3, numHeads: 1 }));
    layer.setWeights(Object.fromEntries(names.map((name) => [name, tf.eye(3)])));
    const query = tf.randomNormal<tf.Rank.R3>([2, 5, 3], 0, 1, 'float32', 1);
    const key = tf.randomNormal<tf.Rank.R3>([2, 7, 3], 0, 1, 'float32', 2);
    const expected = scaledDotProductAttention(query, key, key).output.arraySync();
    const actual = layer.apply({ query, key }).output.arraySync();
    expect(actual.flat(2)).toEqual(expected.flat(2).map((x) => expect.closeTo(x, 6)));
    layer.dispose();
  });
});
