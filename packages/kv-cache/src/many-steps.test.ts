// Thousands of steps leave nothing: 20,000 by hand.
import { memoryNow } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { hasPages, ownPool } from './fixtures/own-pool';
import { GrowingCache, QuantizedCache, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const shape = { batch: 1, heads: 2, keySize: 4, valueSize: 4 };
const steps = process.env.POLYHEAD_LONG ? 20_000 : 300;

/** Each holds at most 40 tokens: those that do not forget are cropped. */
const kinds: [string, () => RowCache][] = [
  ['GrowingCache', () => new GrowingCache(shape)],
  ['StaticCache', () => new StaticCache(shape, { capacity: 41 })],
  ['RingCache', () => new RingCache(shape, { window: 37, sinks: 4, rollback: 1 })],
  ['QuantizedCache', () => new QuantizedCache(shape)],
  ['QuantizedCache by channel', () => new QuantizedCache(shape, { keys: 'int4-channel', residual: 4 })],
  ...(hasPages ? [['PagedCache', () => ownPool(shape, 4)] as (typeof kinds)[number]] : []),
];

it.each(kinds)(
  '%s is as large after many steps, and has left no tensor',
  (name, create) => {
    const cache = create();
    const row = tf.ones<tf.Rank.R4>([1, 2, 1, 4]);
    const step = () => {
      tf.tidy(() => cache.stage({ key: row, value: row }).commit());
      if (cache.lengths[0]! > 40) cache.crop([20]);
    };
    const round = 21; // from one crop to the next
    for (let n = 0; n < 41; n++) step();
    for (let n = 0; n < round; n++) step();
    const before = memoryNow();
    const bytes = cache.byteSize;
    for (let n = 0; n < Math.ceil(steps / round) * round; n++) step();
    expect([name, cache.byteSize, memoryNow()]).toEqual([name, bytes, before]);
    cache.dispose();
  },
  600_000,
);
