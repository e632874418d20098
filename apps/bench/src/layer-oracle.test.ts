import { causal } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { layerOracle } from './layer-oracle';

it('gives the rows asked for, with biases, unequal head sizes and a causal mask', () => {
  const layer = new MultiHeadAttention({
    embedDim: 6,
    numHeads: 2,
    headDim: 5,
    valueHeadDim: 3,
    outputDim: 7,
    useBias: true,
    seed: 3,
  });
  layer.setWeights({
    ...layer.getWeights(),
    'value/bias': tf.fill([6], 0.5),
    'output/bias': tf.fill([7], -2),
  });
  const query = tf.randomNormal<tf.Rank.R3>([1, 4, 6], 0, 1, 'float32', 5);
  const input = Float64Array.from(query.dataSync());

  for (const isCausal of [true, false]) {
    const { output } = layer.apply({ query }, isCausal ? { mask: causal() } : {});
    const rows = [0, 2, 3];
    const expected = rows.flatMap((row) => [...output.dataSync().subarray(row * 7, (row + 1) * 7)]);
    const actual = [...layerOracle(layer, { input, rows, causal: isCausal })];
    expect(actual).toHaveLength(21);
    for (const [n, value] of actual.entries()) expect(value).toBeCloseTo(expected[n]!, 5);
  }
  layer.dispose();
});
