import { memoryNow, useOpaqueBackend } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GrowingCache, predictCacheBytes, StaticCache } from './index';

const shape = { batch: 3, heads: 2, keySize: 5, valueSize: 7 };

/** tf.memory() before and after. */
function bytesOf(make: () => unknown): number {
  const before = memoryNow().numBytes;
  make();
  return memoryNow().numBytes - before;
}

function rowsOf(lengths: readonly number[]) {
  const S = Math.max(...lengths);
  return { key: tf.ones<tf.Rank.R4>([3, 2, S, 5]), value: tf.ones<tf.Rank.R4>([3, 2, S, 7]), lengths };
}

function checkGrowing(): void {
  const cache = new GrowingCache(shape);
  expect([cache.byteSize, predictCacheBytes(shape, 'growing', 0)]).toEqual([0, 0]);
  let allocated = 0;
  for (const [counts, total] of [
    [
      [4, 4, 4],
      [4, 4, 4],
    ],
    [
      [1, 0, 2],
      [5, 4, 6],
    ],
  ] as const) {
    const rows = rowsOf(counts); // alive: what shared its numbers would not count
    allocated += bytesOf(() => tf.tidy(() => cache.stage(rows).commit()));
    expect(cache.byteSize).toBe(allocated);
    expect(predictCacheBytes(shape, 'growing', total)).toBe(allocated);
  }
  expect(predictCacheBytes(shape, 'growing', 5)).toBe(allocated); // 5 + 4 + 6 tokens
  allocated += bytesOf(() => cache.crop([0, 2, 1]));
  expect([cache.byteSize, predictCacheBytes(shape, 'growing', [0, 2, 1])]).toEqual([allocated, allocated]);
  allocated += bytesOf(() => cache.reset());
  expect([cache.byteSize, allocated]).toEqual([0, 0]);
  cache.dispose();
}

describe('predictCacheBytes', () => {
  it('is what a static cache allocates, to the byte', () => {
    let cache: StaticCache | undefined;
    const allocated = bytesOf(() => {
      cache = new StaticCache(shape, { capacity: 11 });
    });
    expect(allocated).toBe(3 * 2 * 11 * (5 + 7) * 4);
    expect(cache!.byteSize).toBe(allocated);
    expect(predictCacheBytes(shape, 'static', 11)).toBe(allocated);
    cache!.dispose();
  });

  it('is what a growing cache allocates, to the byte, whatever each entry holds', checkGrowing);

  it('gives a quarter of the bytes for a quarter of the heads', () => {
    const layer = { batch: 1, heads: 32, keySize: 128, valueSize: 128 };
    const bytes = predictCacheBytes(layer, 'static', 4096);
    expect(bytes).toBe(134_217_728);
    expect(predictCacheBytes({ ...layer, heads: 8 }, 'static', 4096)).toBe(bytes / 4);
  });

  it('refuses what cannot be', () => {
    expect(() => predictCacheBytes({ ...shape, heads: 1.5 }, 'static', 4)).toThrow(
      /heads must be a whole number/,
    );
    for (const kind of ['ring', undefined])
      expect(() => predictCacheBytes(shape, kind as never, 4)).toThrow(/kind must be one of growing, static/);
    for (const tokens of [undefined, null, '4', {}])
      expect(() => predictCacheBytes(shape, 'growing', tokens as never)).toThrow(/tokens must be whole/);
    expect(() => predictCacheBytes(shape, 'static', 0)).toThrow(/tokens of a static cache must be a whole/);
    expect(() => predictCacheBytes(null as never, 'static', 1)).toThrow(/shape must be an object/);
    expect(() => predictCacheBytes(shape, 'growing', -1)).toThrow(/tokens must be whole numbers/);
    expect(() => predictCacheBytes(shape, 'growing', [1, 2])).toThrow(
      /one number of tokens for each batch entry/,
    );
  });
});

describe('predictCacheBytes where tensors cannot be reached', () => {
  let back: () => Promise<void>;
  beforeAll(async () => {
    back = await useOpaqueBackend();
  });
  afterAll(() => back());

  it('is what a growing cache allocates, to the byte', checkGrowing);

  it.each([
    [12, 75_497_472],
    [4, 25_165_824],
    [1, 6_291_456],
  ])('D6: 12 layers of %i key/value heads of 64 hold %i bytes for 1,024 tokens', (heads, bytes) => {
    const shape = { batch: 1, heads, keySize: 64, valueSize: 64 };
    expect(12 * predictCacheBytes(shape, 'static', 1024)).toBe(bytes);
    expect(12 * predictCacheBytes(shape, 'growing', 1024)).toBe(bytes);
  });
});
