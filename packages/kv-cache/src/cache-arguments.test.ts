import { isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { GrowingCache, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const shape = { batch: 1, heads: 2, keySize: 3, valueSize: 3 };
const rows = (S: number) => ({
  key: tf.ones<tf.Rank.R4>([1, 2, S, 3]),
  value: tf.ones<tf.Rank.R4>([1, 2, S, 3]),
});

describe.each([
  ['GrowingCache', () => new GrowingCache(shape)],
  ['StaticCache', () => new StaticCache(shape, { capacity: 4 })],
  ['RingCache', () => new RingCache(shape, { window: 3, sinks: 1 })],
])('%s', (name, create) => {
  it.each<[string, (cache: RowCache) => void, RegExp]>([
    ['stage()', (cache) => cache.stage(undefined as never), /stage: rows must be an object/],
    ['a key that is missing', (cache) => cache.stage({} as never), /stage: key must be a tensor/],
    ['a hole in crop', (cache) => cache.crop(Array(1)), /crop: lengths must be whole numbers/],
    ['crop()', (cache) => cache.crop(undefined as never), /crop: lengths must be a list/],
    ...[0, {}, { start: 1 }, { start: [2 ** 40] }, { each: [1] }, { each: new Float32Array(1) }].map(
      (positions): [string, (cache: RowCache) => void, RegExp] => [
        `positions ${JSON.stringify(positions)}`,
        (cache) => cache.stage({ ...rows(1), positions: positions as never }),
        /stage: positions/,
      ],
    ),
  ])('names %s, and changes nothing', (_, use, message) => {
    const cache = create();
    tf.tidy(() => cache.stage(rows(2)).commit());
    const read = cache.read();
    const attempt = () => use(cache);
    expect(attempt).toThrow(message);
    expect(attempt).toThrow(new RegExp(`^${name}`));
    expect(attempt).toThrow(expect.toSatisfy(isAttentionError));
    expect(cache.lengths).toEqual([2]);
    expect(read.materialize().key.shape).toEqual([1, 2, 2, 3]); // would throw, had the cache changed
    cache.dispose();
  });
});

describe('GrowingCache', () => {
  it('refuses a shape that is none, and options', () => {
    expect(() => new GrowingCache(null as never)).toThrow(/GrowingCache: shape must be an object/);
    expect(() => new GrowingCache({ ...shape, window: 2 } as never)).toThrow(/unknown +\[window\]/);
    expect(() => new GrowingCache(shape, { capacity: 2 } as never)).toThrow(/unknown +\[capacity\]/);
  });
});
