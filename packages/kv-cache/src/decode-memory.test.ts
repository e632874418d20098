// What decoding leaves behind: nothing but its rows, however long it runs and however it fails.
import { expectClose, expectSameMemory, heapBytes, memoryNow, toHost } from '@polyhead/conformance';
import { type AttentionKernel, causal, composed } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { GrowingCache, predictCacheBytes, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const E = 16;
const mask = causal();
const shape = { batch: 1, heads: 2, keySize: 8, valueSize: 8 };
const layer = () => new MultiHeadAttention({ embedDim: E, numHeads: 2, seed: 3 });
const token = () => tf.randomNormal<tf.Rank.R3>([1, 1, E], 0, 1, 'float32', 5);

const caches: [string, (capacity: number) => RowCache][] = [
  ['GrowingCache', () => new GrowingCache(shape)],
  ['StaticCache', (capacity) => new StaticCache(shape, { capacity })],
  ['RingCache', () => new RingCache(shape, { window: 16 })],
];

function decode(attention: MultiHeadAttention, cache: RowCache, steps: number): void {
  const query = token();
  for (let step = 0; step < steps; step++) tf.tidy(() => void attention.apply({ query }, { mask, cache }));
  query.dispose();
}

describe('many decode steps', () => {
  const usually = process.env.POLYHEAD_BACKEND === 'wasm' ? 300 : 60; // only a heap fills up unseen
  const steps = process.env.POLYHEAD_LONG ? 2_000 : usually;
  const warmUp = 50;

  it.each(caches)(
    'of a %s leave no tensor, no byte and no heap but the rows',
    {
      timeout: 600_000,
    },
    (_, create) => {
      const attention = layer();
      const cache = create(warmUp + steps);
      decode(attention, cache, warmUp);
      const before = memoryNow();
      const rows = cache.byteSize;
      decode(attention, cache, steps);
      const now = memoryNow();
      expect(now.numTensors).toBe(before.numTensors);
      expect(now.numBytes - before.numBytes).toBe(cache.byteSize - rows);
      const heap = heapBytes();
      cache.reset();
      decode(attention, cache, warmUp + steps); // all sizes once more: the heap has seen them
      expect(memoryNow().numBytes).toBe(now.numBytes);
      expect(heapBytes()).toBe(heap);
      cache.dispose();
      attention.dispose();
    },
  );

  it('of a StaticCache hold what was predicted, all the time', () => {
    const attention = layer();
    const cache = new StaticCache(attention.cacheShape(1), { capacity: 64 });
    const bytes = predictCacheBytes(StaticCache, cache.shape, { capacity: 64 });
    for (let step = 0; step < 60; step++) {
      decode(attention, cache, 1);
      expect(cache.byteSize).toBe(bytes);
    }
    cache.dispose();
    attention.dispose();
  });
});

describe('a buffer written in place', () => {
  it('is never read through a packed copy: one key/value head, batch 1, 100 steps', () => {
    // On wasm the backend packs the right operand of a product of two matrices once for each tensor.
    const [S, D] = [100, 64];
    const config = { embedDim: D, numHeads: 4, numKeyValueHeads: 1, headDim: D, seed: 4 };
    const attention = new GroupedQueryAttention(config);
    const all = tf.randomNormal<tf.Rank.R3>([1, S, D], 0, 1, 'float32', 6);
    const expected = attention.apply({ query: all }, { mask }).output;
    const cache = new StaticCache(attention.cacheShape(1), { capacity: S });
    const outputs = Array.from({ length: S }, (_, i) => {
      const query = tf.slice(all, [0, i, 0], [1, 1, D]);
      return attention.apply({ query }, { mask, cache }).output;
    });
    expectClose({
      actual: { output: toHost(tf.concat(outputs, 1)) },
      expected: { output: toHost(expected) },
    });
    cache.dispose();
    attention.dispose();
  });
});

describe.each(caches)('a call that fails with a %s', (_, create) => {
  const failing: AttentionKernel = {
    name: 'failing',
    unsupported: () => [],
    run(call) {
      composed().run(call);
      throw new Error('broken kernel');
    },
  };
  const refusing: AttentionKernel = { ...failing, unsupported: () => ['no'] };

  it('leaves cache and memory as they were', () => {
    const attention = layer();
    const cache = create(8);
    decode(attention, cache, 3);
    const query = token();
    const nan = tf.fill<tf.Rank.R3>([1, 1, E], Number.NaN);
    const expected = toHost(attention.apply({ query }, { mask, cache }).output);
    cache.crop([3]);
    const before = memoryNow();
    for (const kernel of [failing, refusing]) {
      expect(() => attention.apply({ query: nan }, { mask, cache, kernel })).toThrow(
        /broken kernel|cannot run/,
      );
      expect(cache).toMatchObject({ lengths: [3], nextPosition: [3] });
      expectSameMemory(before);
    }
    expect(toHost(attention.apply({ query }, { mask, cache }).output)).toEqual(expected);
    cache.dispose();
    attention.dispose();
  });

  it('refuses a gradient', () => {
    const attention = layer();
    const cache = create(8);
    const before = memoryNow();
    const loss = (query: tf.Tensor) =>
      tf.sum(attention.apply({ query: query as tf.Tensor3D }, { mask, cache }).output) as tf.Scalar;
    const query = token();
    expect(() => tf.grad(loss)(query)).toThrow(/a cache cannot stand in a gradient/);
    query.dispose();
    expectSameMemory(before);
    expect(cache.lengths).toEqual([0]);
    cache.dispose();
    attention.dispose();
  });
});
