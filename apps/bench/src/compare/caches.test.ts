import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { cachedRows, caches, checkBytes, releaseCache } from './caches';

const shape = { batch: 2, heads: 3, keySize: 4, valueSize: 5 };

describe.each(caches)('a $name cache', (kind) => {
  it('holds the rows it is filled with, in the bytes predicted', () => {
    const cache = kind.create(shape, 7);
    const rows = cachedRows(shape, 7);
    rows.appendTo(cache);
    expect(cache.lengths).toEqual([7, 7]);
    const { key, value } = tf.tidy(() => {
      const stored = cache.read().materialize();
      return { key: stored.key.dataSync(), value: stored.value.dataSync() };
    });
    expect([...key.subarray(3 * 7 * 4)]).toEqual([...rows.entry(1).key]);
    expect([...value.subarray(0, 3 * 7 * 5)]).toEqual([...rows.entry(0).value]);
    expect(key).not.toEqual(value.subarray(0, key.length));
    const bytes = releaseCache(kind, cache, 7);
    expect(bytes).toEqual({ predicted: 1512, held: 1512, allocated: 1512 }); // 2 · 3 · 7 · 9 · 4
    expect(() => checkBytes('a cache', bytes)).not.toThrow();
  });

  it('is found out where it holds another number of tokens', () => {
    const cache = kind.create(shape, 8);
    cachedRows(shape, 8).appendTo(cache);
    expect(() => checkBytes('a cache', releaseCache(kind, cache, 7))).toThrow(
      'a cache: 1512 bytes of cache are predicted, it says 1728, and 1728 are allocated',
    );
  });
});

it.each(['predicted', 'held', 'allocated'])('wrong bytes %s are refused', (part) => {
  const right = { predicted: 8, held: 8, allocated: 8 };
  expect(() => checkBytes('it', { ...right, [part]: 4 })).toThrow('4');
});
