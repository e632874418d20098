// J14: a fork goes on alone.
import { expectClose, memoryNow, toHost } from '@polyhead/conformance';
import { type Attention, causal } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { hasPages, ownPool } from './fixtures/own-pool';
import { GrowingCache, QuantizedCache, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const E = 12;
const mask = causal();
const tokens = (S: number, seed = 9) => tf.randomNormal<tf.Rank.R3>([1, S, E], 0, 1, 'float32', seed);

const kinds: [string, (attention: Attention) => RowCache][] = [
  ['GrowingCache', (attention) => new GrowingCache(attention.cacheShape(1))],
  ['StaticCache', (attention) => new StaticCache(attention.cacheShape(1), { capacity: 12 })],
  ['RingCache', (attention) => new RingCache(attention.cacheShape(1), { window: 8, rollback: 4 })],
  ['QuantizedCache', (attention) => new QuantizedCache(attention.cacheShape(1))],
  [
    'QuantizedCache by channel',
    (attention) => new QuantizedCache(attention.cacheShape(1), { keys: 'int4-channel', residual: 0 }),
  ],
  ...(hasPages
    ? [['PagedCache', ({ cacheShape }) => ownPool(cacheShape(1), 4)] as (typeof kinds)[number]]
    : []),
];

it.each(kinds)('%s: a fork leaves the original alone, and decodes as it does', (_, create) => {
  const attention = new MultiHeadAttention({ embedDim: E, numHeads: 3, seed: 8 });
  attention.cacheShape = attention.cacheShape.bind(attention);
  const decode = (cache: RowCache, query: tf.Tensor3D) =>
    toHost(attention.apply({ query }, { mask, cache }).output);
  const next = tokens(4, 3);
  const [alone, cache] = [create(attention), create(attention)];
  decode(alone, tokens(5));
  const expected = { output: decode(alone, next) };
  decode(cache, tokens(5));
  const before = memoryNow().numBytes;
  const fork = cache.fork();
  expect(memoryNow().numBytes - before).toBe(_ === 'PagedCache' ? 0 : cache.byteSize);
  decode(fork, tokens(3, 4));
  expect([cache.lengths, fork.lengths]).toEqual([[5], [8]]);
  expectClose({ actual: { output: decode(cache, next) }, expected });
  fork.crop([5]);
  cache.dispose();
  expectClose({ actual: { output: decode(fork, next) }, expected });
  const other = { key: tf.zeros<tf.Rank.R4>([1, 3, 1, 4]), value: tf.zeros<tf.Rank.R4>([1, 3, 1, 4]) };
  expect(() => fork.stage({ ...other, layer: { name: 'another' } })).toThrow(/serves one layer/);
  for (const own of [fork, alone]) own.dispose();
  expect(() => fork.fork()).toThrow(/must not be disposed/);
  attention.dispose();
});
