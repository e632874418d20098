import { expectSameMemory, memoryNow, useOpaqueBackend } from '@polyhead/conformance';
import { isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasPages, ownPool } from './fixtures/own-pool';
import { cacheFromBytes, cacheToBytes, GrowingCache, QuantizedCache, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const shape = { batch: 2, heads: 2, keySize: 5, valueSize: 3 };
const rows = (S: number, seed = 1, lengths = [S, S]) => ({
  key: tf.randomNormal<tf.Rank.R4>([2, 2, S, 5], 0, 1, 'float32', seed),
  value: tf.randomNormal<tf.Rank.R4>([2, 2, S, 3], 0, 1, 'float32', seed + 1),
  lengths,
});
const append = (cache: RowCache, newRows: Parameters<RowCache['stage']>[0]) =>
  tf.tidy(() => cache.stage(newRows).commit());

const kinds: [string, () => RowCache][] = [
  ['GrowingCache', () => new GrowingCache(shape)],
  ['StaticCache', () => new StaticCache(shape, { capacity: 50 })],
  ['RingCache', () => new RingCache(shape, { window: 6, sinks: 2, rollback: 3 })],
  ['QuantizedCache', () => new QuantizedCache(shape, { values: 'int4' })],
  ['QuantizedCache by channel', () => new QuantizedCache(shape, { keys: 'int4-channel', residual: 2 })],
  ...(hasPages ? [['PagedCache', () => ownPool(shape, 4)] as [string, () => RowCache]] : []),
];

async function numbersIn(cache: RowCache) {
  const { key, value } = tf.tidy(() => cache.read().materialize());
  const numbers = [await key.data(), await value.data()].map((x) => [...x]);
  tf.dispose([key, value]);
  const { lengths, nextOrder, nextPosition, sealed, byteSize } = cache;
  return { numbers, lengths, nextOrder, nextPosition, sealed, byteSize };
}

function fill(cache: RowCache): void {
  append(cache, rows(36, 1, [36, 20]));
  append(cache, { ...rows(2, 3, [1, 2]), positions: { start: [50, 60] } });
  append(cache, rows(3, 5));
  cache.crop(cache.lengths.map((length) => length - 2));
}

describe.each(kinds)('%s as bytes', (_, create) => {
  it('is the same again, and goes on as it does', async () => {
    const [cache, again] = [create(), create()];
    fill(cache);
    const bytes = await cacheToBytes(cache);
    expect(cacheFromBytes(bytes, again)).toBe(again);
    expect(await numbersIn(again)).toEqual(await numbersIn(cache));
    const more = rows(4, 9, [4, 3]);
    for (const own of [cache, again]) append(own, more);
    expect(await numbersIn(again)).toEqual(await numbersIn(cache));
    expect(again.read().positions).toEqual(cache.read().positions);
    for (const own of [cache, again]) own.dispose();
  });

  it('is the same where it is empty, or sealed', async () => {
    const [cache, again] = [create(), create()];
    cacheFromBytes(await cacheToBytes(cache), again);
    expect(again.lengths).toEqual([0, 0]);
    append(cache, rows(3));
    cache.seal();
    cacheFromBytes(await cacheToBytes(cache), again);
    expect(await numbersIn(again)).toEqual(await numbersIn(cache));
    for (const own of [cache, again]) own.dispose();
  });

  it('is the same, and goes on, on another backend', async () => {
    const own = tf.getBackend();
    const cache = create();
    fill(cache);
    const [bytes, expected] = [await cacheToBytes(cache), await numbersIn(cache)];
    append(cache, rows(1, 9));
    const longer = await numbersIn(cache);
    for (const backend of ['cpu', 'wasm']) {
      await tf.setBackend(backend);
      const again = cacheFromBytes(bytes, create());
      expect(await numbersIn(again)).toEqual(expected);
      append(again, rows(1, 9));
      expect(await numbersIn(again)).toEqual(longer);
      again.dispose();
    }
    await tf.setBackend(own);
    cache.dispose();
  });

  it('is refused where a bit of what describes it is another, or bytes are missing', async () => {
    const cache = create();
    fill(cache);
    const bytes = await cacheToBytes(cache);
    const end = 12 + new DataView(bytes.buffer).getUint32(8, true);
    cache.reset();
    const before = { ...memoryNow(), lengths: cache.lengths };
    const change = fc.oneof(
      fc.record({ at: fc.nat(end - 1), bit: fc.nat(7) }),
      fc.record({ length: fc.nat(bytes.length - 1) }),
    );
    fc.assert(
      fc.property(change, (damage) => {
        const other = 'length' in damage ? bytes.slice(0, damage.length) : bytes.slice();
        if ('at' in damage) other[damage.at]! ^= 1 << damage.bit;
        try {
          cacheFromBytes(other, cache); // a position may be another number
          cache.reset();
        } catch (error) {
          expect(error).toSatisfy(isAttentionError);
        }
        expect(cache.lengths).toEqual(before.lengths);
      }),
      { seed: 3, numRuns: process.env.POLYHEAD_LONG ? 5000 : 100 },
    );
    expectSameMemory(before);
    cache.dispose();
  });
});

describe('cacheFromBytes', () => {
  it('reads what another backend has written', async () => {
    const cache = new GrowingCache(shape);
    fill(cache);
    const [bytes, expected] = [await cacheToBytes(cache), await numbersIn(cache)];
    const back = await useOpaqueBackend();
    const again = cacheFromBytes(bytes, new StaticCacheAsGrowing(shape));
    expect(await numbersIn(again)).toEqual(expected);
    again.dispose();
    await back();
    cache.dispose();
  });

  it('names what does not fit', async () => {
    const cache = new StaticCache(shape, { capacity: 9 });
    append(cache, rows(8));
    const bytes = await cacheToBytes(cache);
    const into = (other: RowCache) => () => cacheFromBytes(bytes, other);
    expect(into(cache)).toThrow(/the cache must be empty: reset it/);
    expect(into(new GrowingCache(shape))).toThrow(/same kind, shape and options/);
    expect(into(new StaticCache({ ...shape, heads: 1 }, { capacity: 9 }))).toThrow(/same kind, shape/);
    expect(into(new StaticCache(shape, { capacity: 7 }))).toThrow(/rows must fit into the capacity/);
    const larger = cacheFromBytes(bytes, new StaticCache(shape, { capacity: 30 }));
    expect(await larger.read().materialize().key.data()).toEqual(await cache.read().materialize().key.data());
    expect(() => cacheFromBytes(new Uint8Array(5), larger)).toThrow(/must be empty/);
    larger.reset();
    expect(() => cacheFromBytes(new Uint8Array(5), larger)).toThrow(/must be those of cacheToBytes/);
    bytes[4] = 9;
    expect(() => cacheFromBytes(bytes, larger)).toThrow(/must be of version 1\n +version +9/);
    await expect(cacheToBytes({} as RowCache)).rejects.toThrow(/must be a cache of rows/);
  });
});

class StaticCacheAsGrowing extends GrowingCache {}
