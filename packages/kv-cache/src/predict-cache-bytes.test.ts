import { memoryNow, useOpaqueBackend } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GrowingCache, predictCacheBytes, RingCache, StaticCache } from './index';

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
  expect([cache.byteSize, predictCacheBytes(GrowingCache, shape, { tokens: 0 })]).toEqual([0, 0]);
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
    expect(predictCacheBytes(GrowingCache, shape, { tokens: total })).toBe(allocated);
  }
  expect(predictCacheBytes(GrowingCache, shape, { tokens: 5 })).toBe(allocated); // 5 + 4 + 6 tokens
  allocated += bytesOf(() => cache.crop([0, 2, 1]));
  expect([cache.byteSize, predictCacheBytes(GrowingCache, shape, { tokens: [0, 2, 1] })]).toEqual([
    allocated,
    allocated,
  ]);
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
    expect(predictCacheBytes(StaticCache, shape, { capacity: 11 })).toBe(allocated);
    cache!.dispose();
  });

  it('is what a ring allocates, to the byte, however many tokens come', () => {
    const options = { window: 4, sinks: 2, rollback: 3 };
    let cache: RingCache | undefined;
    const allocated = bytesOf(() => {
      cache = new RingCache(shape, options);
    });
    expect(allocated).toBe(3 * 2 * (2 + 3 + 3) * (5 + 7) * 4);
    expect(predictCacheBytes(RingCache, shape, options)).toBe(allocated);
    for (const counts of [
      [4, 4, 4],
      [9, 0, 5],
      [1, 1, 1],
    ]) {
      const rows = rowsOf(counts);
      expect(bytesOf(() => tf.tidy(() => cache!.stage(rows).commit()))).toBe(0);
      expect(cache!.byteSize).toBe(allocated);
    }
    cache!.dispose();
  });

  it('is what a growing cache allocates, to the byte, whatever each entry holds', checkGrowing);

  it('gives a quarter of the bytes for a quarter of the heads', () => {
    const layer = { batch: 1, heads: 32, keySize: 128, valueSize: 128 };
    const bytes = predictCacheBytes(StaticCache, layer, { capacity: 4096 });
    expect(bytes).toBe(134_217_728);
    expect(predictCacheBytes(StaticCache, { ...layer, heads: 8 }, { capacity: 4096 })).toBe(bytes / 4);
  });

  it('counts values that are columns of the keys as nothing, and large sizes without allocating lists', () => {
    const latent = { batch: 1, heads: 1, keySize: 576, valueSize: 0 }; // DeepSeek-V2, 2405.04434
    expect(predictCacheBytes(StaticCache, latent, { capacity: 4096 })).toBe(4096 * 576 * 4);
    expect(predictCacheBytes(GrowingCache, { ...latent, heads: 2 ** 30 }, { tokens: 1 })).toBe(
      2 ** 30 * 2304,
    );
    expect(() => predictCacheBytes(GrowingCache, { ...latent, batch: 2 ** 33 }, { tokens: 1 })).toThrow(
      /batch/,
    );
  });

  it('asks a class from outside', () => {
    const Halves = { kind: 'Halves', bytesFor: (_: unknown, { tokens }: { tokens: number }) => 2 * tokens };
    expect(predictCacheBytes(Halves, shape, { tokens: 3 })).toBe(6);
  });

  it('refuses what cannot be', () => {
    expect(() => predictCacheBytes(StaticCache, { ...shape, heads: 1.5 }, { capacity: 4 })).toThrow(
      /heads must be a whole number/,
    );
    for (const kind of ['static', undefined, {}])
      expect(() => predictCacheBytes(kind as never, shape, {})).toThrow(/kind must be a class of caches/);
    for (const tokens of [undefined, null, '4', {}])
      expect(() => predictCacheBytes(GrowingCache, shape, { tokens: tokens as never })).toThrow(
        /tokens must be whole/,
      );
    expect(() => predictCacheBytes(StaticCache, shape, { capacity: 0 })).toThrow(
      /StaticCache.bytesFor: capacity must be a whole/,
    );
    expect(() => predictCacheBytes(StaticCache, null as never, { capacity: 1 })).toThrow(
      /shape must be an object/,
    );
    expect(() => predictCacheBytes(GrowingCache, shape, { tokens: -1 })).toThrow(
      /tokens must be whole numbers/,
    );
    expect(() => predictCacheBytes(GrowingCache, shape, { tokens: [1, 2] })).toThrow(
      /tokens must be one number, or one for each batch entry/,
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
    expect(12 * predictCacheBytes(StaticCache, shape, { capacity: 1024 })).toBe(bytes);
    expect(12 * predictCacheBytes(GrowingCache, shape, { tokens: 1024 })).toBe(bytes);
  });
});
