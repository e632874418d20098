// Known traps of caches of cross-attention: an encoder's keys and values, projected once.
import { expectClose, numbersOf, toHost } from '@polyhead/conformance';
import { type Attention, slidingWindow } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasPages, ownPool } from './fixtures/own-pool';
import { GrowingCache, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const E = 12;
const tokens = (B: number, S: number, seed = 9) =>
  tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', seed);

const kinds: [string, (attention: Attention, B?: number) => RowCache][] = [
  ['GrowingCache', (attention, B = 1) => new GrowingCache(attention.cacheShape(B))],
  ['StaticCache', (attention, B = 1) => new StaticCache(attention.cacheShape(B), { capacity: 8 })],
  ...(hasPages ? [['PagedCache', pages] as [string, typeof pages]] : []),
];

function pages(attention: Attention, B = 1): RowCache {
  return ownPool(attention.cacheShape(B), 2);
}

function expectSame(actual: tf.Tensor, expected: tf.Tensor): void {
  expectClose({ actual: { output: toHost(actual) }, expected: { output: toHost(expected) } });
}

describe.each(kinds)('%s', (_, create) => {
  let attention: MultiHeadAttention;
  beforeEach(() => {
    attention = new MultiHeadAttention({ embedDim: E, numHeads: 3, seed: 8 });
  });
  afterEach(() => attention.dispose());

  it('J15: of an encoder is filled once, and served without its tokens', () => {
    const cache = create(attention);
    const encoded = tokens(1, 3);
    const all = tokens(1, 6, 11);
    const cross = (i: number) => ({ query: tf.slice(all, [0, i, 0], [1, 1, E]) });
    const expected = [1, 2, 3, 4, 5].map((i) => attention.apply({ ...cross(i), key: encoded }).output);
    attention.apply({ ...cross(0), key: encoded }, { cache });
    cache.seal();
    const nan = tf.fill([E, E], Number.NaN); // a key or value projected from now on would show
    attention.setWeights({ ...attention.getWeights(), 'key/kernel': nan, 'value/kernel': nan });
    expected.forEach((output, i) => {
      expectSame(attention.apply(cross(i + 1), { cache }).output, output);
      expect(cache.lengths).toEqual([3]);
    });
    expect(() => attention.apply({ ...cross(0), key: encoded }, { cache })).toThrow(/the cache is sealed/);
    expect(() => attention.apply(cross(0), { cache, lengths: [1] })).toThrow(/without a key there are none/);
    cache.dispose();
  });

  it('J15: of encoders of unequal lengths shows each its own', () => {
    const cache = create(attention, 2);
    const encoded = tokens(2, 5);
    const query = tokens(2, 1, 12);
    attention.apply({ query, key: encoded }, { cache, lengths: [2, 5] });
    cache.seal();
    const actual = attention.apply({ query }, { cache }).output;
    for (const [b, length] of [2, 5].entries()) {
      const own = {
        query: tf.slice(query, [b, 0, 0], [1, 1, E]),
        key: tf.slice(encoded, [b, 0, 0], [1, length, E]),
      };
      expectSame(tf.slice(actual, [b, 0, 0], [1, 1, E]), attention.apply(own).output);
    }
    cache.dispose();
  });

  it("J16: of an encoder knows nothing of the decoder's window", () => {
    const [own, encoder] = [create(attention), create(attention)];
    attention.apply({ query: tokens(1, 1), key: tokens(1, 3) }, { cache: encoder });
    encoder.seal();
    const window = slidingWindow({ left: 1, right: 0 });
    const all = tokens(1, 4, 13);
    for (let i = 0; i < 4; i++) {
      const query = tf.slice(all, [0, i, 0], [1, 1, E]);
      attention.apply({ query }, { cache: own, mask: window });
      const { weights } = attention.apply({ query }, { cache: encoder, returns: ['weights'] });
      expect(numbersOf(tf.min(weights!))[0]).toBeGreaterThan(0);
      expect(weights!.shape).toEqual([1, 3, 1, 3]);
    }
    own.dispose();
    encoder.dispose();
  });
});

it('J16: a ring, which would hide keys of the encoder by token order, is refused, and stays empty', () => {
  const attention = new MultiHeadAttention({ embedDim: E, numHeads: 3, seed: 8 });
  const cache = new RingCache(attention.cacheShape(1), { window: 2, sinks: 0 });
  const cross = { query: tokens(1, 2), key: tokens(1, 3) };
  expect(() => attention.apply(cross, { cache })).toThrow(/in cross-attention a cache must show all keys/);
  expect(cache.lengths).toEqual([0]);
  attention.apply({ query: tokens(1, 3) }, { cache });
  cache.seal();
  expect(() => attention.apply({ query: tokens(1, 2) }, { cache })).toThrow(/must show all keys/);
  cache.dispose();
  attention.dispose();
});
