// Decoding from caches as they lie gives what one pass over all tokens gives, and what the default kernel gives.
import { expectClose, expectNumbers, numbersOf, samplePositions, toHost } from '@polyhead/conformance';
import {
  type Attention,
  type AttentionKernel,
  attend,
  causal,
  composed,
  type KeyValueCache,
  type LayerCall,
  slidingWindow,
} from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache, QuantizedCache, StaticCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';
import { mergeAttention } from './index';

const [B, S, E] = [2, 9, 12];
const config = { embedDim: E, numHeads: 6, headDim: 5, valueHeadDim: 4, dropout: 0.3, seed: 1 };
const kernel = fusedKernel({ rowsPerTile: 4, keysPerTile: 4 });

const layers: readonly (readonly [string, (kernel: AttentionKernel) => Attention])[] = [
  ['MultiHeadAttention', (kernel) => new MultiHeadAttention(config, { kernel })],
  [
    'GroupedQueryAttention, 2 heads, with positions',
    (kernel) =>
      new GroupedQueryAttention({ ...config, numKeyValueHeads: 2 }, { kernel, position: samplePositions(6) }),
  ],
];

const caches: readonly (readonly [string, (layer: Attention) => KeyValueCache])[] = [
  ['GrowingCache', (layer) => new GrowingCache(layer.cacheShape(B))],
  ['StaticCache', (layer) => new StaticCache(layer.cacheShape(B), { capacity: S + 2 })],
];

const calls: Readonly<Record<string, LayerCall>> = {
  causal: { mask: causal() },
  'causal, with dropout': { mask: causal(), training: { seed: 5 } },
  window: { mask: slidingWindow({ left: 2, right: 0 }) },
};

const tokens = () => tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', 7);
const chunksOf = [[9], [4, 5], [1, 1, 1, 1, 1, 1, 1, 1, 1], [3, 1, 1, 4]];

describe.each(layers)('%s', (_, layerWith) => {
  describe.each(caches)('with a %s', (_, cacheOf) => {
    it.each(Object.entries(calls))('J1: decodes in any chunks: %s', (_, call) => {
      const [flashLayer, composedLayer] = [layerWith(kernel), layerWith(composed())];
      const query = tokens();
      const expected = { output: toHost(composedLayer.apply({ query }, call).output) };
      for (const chunks of chunksOf) {
        const cache = cacheOf(flashLayer);
        let from = 0;
        const outputs = chunks.map((count) => {
          const rows = tf.slice(query, [0, from, 0], [B, count, E]);
          from += count;
          const result = flashLayer.apply({ query: rows }, { ...call, cache });
          expect(result.kernel).toBe(kernel.name);
          return result.output;
        });
        expectClose({ actual: { output: toHost(tf.concat(outputs, 1)) }, expected });
        cache.dispose();
      }
      flashLayer.dispose();
      composedLayer.dispose();
    });
  });
});

describe.each(layers)('%s', (_, layerWith) => {
  it.each(['int8', 'int4'] as const)(
    'decodes from %s values as the default kernel does, in any chunks',
    (values) => {
      const [flashLayer, composedLayer] = [layerWith(kernel), layerWith(composed())];
      const cacheOf = (layer: Attention) => new QuantizedCache(layer.cacheShape(B), { values });
      const query = tokens();
      const mask = causal();
      const whole = cacheOf(composedLayer);
      const expected = { output: toHost(composedLayer.apply({ query }, { mask, cache: whole }).output) };
      for (const [layer, chunks] of [
        ...chunksOf.map((chunks) => [flashLayer, chunks] as const),
        [composedLayer, [3, 1, 1, 4]] as const,
      ]) {
        const cache = cacheOf(layer);
        let from = 0;
        const outputs = chunks.map((count) => {
          const rows = tf.slice(query, [0, from, 0], [B, count, E]);
          from += count;
          return layer.apply({ query: rows }, { mask, cache }).output;
        });
        expectClose({ actual: { output: toHost(tf.concat(outputs, 1)) }, expected });
        cache.dispose();
      }
      for (const held of [whole, flashLayer, composedLayer]) held.dispose();
    },
  );
});

describe('keys split between a shared prefix and a cache', () => {
  it('give the same when merged', () => {
    const heads = (shape: [number, number, number, number], seed: number) =>
      tf.randomNormal<tf.Rank.R4>(shape, 0, 1, 'float32', seed);
    const [prefix, own] = [4, 5];
    const query = heads([B, 6, 1, 5], 1);
    const key = heads([1, 2, prefix, 5], 2);
    const value = heads([1, 2, prefix, 4], 3);
    const forAll = (x: tf.Tensor4D) => tf.concat(Array<tf.Tensor4D>(B).fill(x), 0);
    const [ownKey, ownValue] = [heads([B, 2, own, 5], 4), heads([B, 2, own, 4], 5)];
    const returns = ['logSumExp'] as const;

    const cache = new StaticCache({ batch: B, heads: 2, keySize: 5, valueSize: 4 }, { capacity: 8 });
    const staged = cache.stage({ key: ownKey, value: ownValue });
    // All entries ask the prefix at once: the batch is folded into the query axis.
    const folded = tf.reshape<tf.Rank.R4>(tf.transpose(query, [2, 1, 0, 3]), [1, 6, B, 5]);
    const shared = attend(kernel, { query: folded, key, value }, { returns });
    const unfold = (x: tf.Tensor, width: number[]) =>
      tf.reshape(tf.transpose(tf.reshape(x, [6, B, ...width]), [1, 0, ...width.map((_, n) => n + 2)]), [
        B,
        6,
        1,
        ...width,
      ]);
    const merged = mergeAttention([
      {
        output: unfold(shared.output, [4]) as tf.Tensor4D,
        logSumExp: unfold(shared.logSumExp!, []) as tf.Tensor3D,
      },
      attend(kernel, { query, stored: staged.stored }, { returns }),
    ]);
    const all = attend(
      composed(),
      { query, key: tf.concat([forAll(key), ownKey], 2), value: tf.concat([forAll(value), ownValue], 2) },
      { returns },
    );
    expectNumbers(merged.output, numbersOf(all.output));
    expectNumbers(merged.logSumExp, numbersOf(all.logSumExp!));
    cache.dispose();
  });
});
