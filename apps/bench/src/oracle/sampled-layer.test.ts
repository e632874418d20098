import { causal } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { StaticCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { sampleLayer } from './sampled-layer';

const mask = causal();

function expectClose(actual: Float64Array, expected: readonly number[]) {
  expect(actual).toHaveLength(expected.length);
  for (const [n, value] of actual.entries()) expect(value).toBeCloseTo(expected[n]!, 5);
}

/** Some rows of a matrix, and of those some columns. */
function pick(x: tf.Tensor, rows: readonly number[], columns: readonly number[]): number[] {
  const [values, width] = [x.dataSync(), x.shape.at(-1)!];
  return rows.flatMap((row) => columns.map((column) => values[row * width + column]!));
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

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
  const sampled = sampleLayer(layer);
  const rows = [0, 2, 3];
  for (const isCausal of [true, false]) {
    const { output } = layer.apply({ query }, isCausal ? { mask } : {});
    const heads = sampled.headOutputs({ input: query.dataSync(), rows, causal: isCausal });
    expectClose(sampled.output(heads), pick(output, rows, upTo(7)));
  }
  layer.dispose();
});

it('gives some heads of groups and some columns, behind cached rows', () => {
  const layer = new GroupedQueryAttention({
    embedDim: 12,
    numHeads: 6,
    numKeyValueHeads: 3,
    headDim: 5,
    seed: 7,
  });
  const query = tf.randomNormal<tf.Rank.R3>([1, 2, 12], 0, 1, 'float32', 5);
  const cache = new StaticCache(layer.cacheShape(1), { capacity: 8 });
  const [key, value] = [8, 9].map((seed) => tf.randomNormal<tf.Rank.R4>([1, 3, 4, 5], 0, 1, 'float32', seed));
  tf.tidy(() => cache.stage({ key: key!, value: value! }).commit());
  const result = layer.apply({ query }, { mask, cache, returns: ['headOutputs'] });
  const merged = tf.reshape(tf.transpose(result.headOutputs!, [0, 2, 1, 3]), [2, 30]);

  const [heads, columns] = [
    [1, 5],
    [0, 11],
  ];
  const sampled = sampleLayer(layer, { heads, columns });
  const cached = { key: key!.dataSync(), value: value!.dataSync() } as Record<'key' | 'value', Float32Array>;
  const outputs = sampled.headOutputs({ input: query.dataSync(), rows: [0, 1], causal: true, cached });
  const ofHeads = heads.flatMap((h) => upTo(5).map((d) => h * 5 + d));
  expectClose(outputs, pick(merged, [0, 1], ofHeads));
  expectClose(sampled.output(merged.dataSync()), pick(result.output, [0, 1], columns));
  cache.dispose();
  layer.dispose();
});
