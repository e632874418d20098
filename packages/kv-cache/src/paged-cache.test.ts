import { memoryNow, useOpaqueBackend } from '@polyhead/conformance';
import { fromConfig } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { append, marks, rows, shape } from './fixtures/marked-rows';
import { hasPages } from './fixtures/own-pool';
import { PagedCache, PagePool, predictCacheBytes } from './index';

const pageBytes = 4 * shape.heads * (shape.keySize + shape.valueSize) * 4; // pages of 4 tokens

describe('PagedCache', () => {
  let pool: PagePool;
  let before: ReturnType<typeof memoryNow>;
  beforeEach(({ skip }) => {
    skip(!hasPages, 'no tensor can be changed here');
    before = memoryNow();
    pool = new PagePool(shape, { pages: 6, pageSize: 4 });
  });
  afterEach(() => {
    if (!hasPages) return;
    const held = memoryNow().numBytes;
    pool.dispose();
    pool.dispose();
    expect(held - memoryNow().numBytes).toBe(6 * pageBytes);
    expect(pool.byteSize).toBe(0);
  });

  it('has the pages that its tokens fill, of a pool allocated once', () => {
    const bytes = predictCacheBytes(PagePool, shape, { pages: 6, pageSize: 4 });
    expect([pool.byteSize, memoryNow().numBytes - before.numBytes]).toEqual([bytes, bytes]);
    expect(bytes).toBe(6 * pageBytes);
    const cache = new PagedCache(pool, shape);
    append(cache, { ...rows(5), lengths: [5, 2] });
    expect(pool.freePages).toBe(3);
    expect(cache.byteSize).toBe(3 * pageBytes);
    expect(predictCacheBytes(PagedCache, shape, { tokens: [5, 2], pageSize: 4 })).toBe(3 * pageBytes);
    cache.crop([4, 0]);
    expect(pool.freePages).toBe(5);
    cache.dispose();
    expect(pool.freePages).toBe(6);
  });

  it('copies a page that others see before it writes there', () => {
    const cache = new PagedCache(pool, shape);
    append(cache, rows(5, 1));
    const fork = cache.fork();
    expect(pool.freePages).toBe(2);
    append(fork, { ...rows(1, 2), lengths: [1, 0] }); // the last page of one entry
    expect(pool.freePages).toBe(1);
    append(cache, { ...rows(1, 3), lengths: [1, 0] }); // which now has it alone
    expect(pool.freePages).toBe(1);
    expect(marks(cache.read())).toEqual([
      [1, 1, 1, 1, 1, 3],
      [1, 1, 1, 1, 1],
    ]);
    expect(marks(fork.read())).toEqual([
      [1, 1, 1, 1, 1, 2],
      [1, 1, 1, 1, 1],
    ]);
    cache.dispose();
    expect(marks(fork.read())[0]).toEqual([1, 1, 1, 1, 1, 2]);
    expect(pool.freePages).toBe(2);
    fork.dispose();
  });

  it('gives beams the same pages', () => {
    const cache = new PagedCache(pool, shape);
    append(cache, { ...rows(7), lengths: [7, 1] });
    cache.select([0, 0]);
    expect(pool.freePages).toBe(4);
    expect(cache.byteSize).toBe(2 * pageBytes);
    append(cache, rows(1, 2)); // two entries write into one page: the first has a copy
    expect(pool.freePages).toBe(3);
    expect(marks(cache.read()).map((own) => own.at(-1))).toEqual([2, 2]);
    cache.dispose();
  });

  it('says when the pool is full, and changes nothing', () => {
    const [first, other] = [new PagedCache(pool, shape), new PagedCache(pool, shape)];
    append(first, rows(8));
    const facts = /rows must fit into the free pages.*\n +pages needed +4\n +pages free +2/;
    expect(() => append(other, rows(5))).toThrow(facts);
    expect([pool.freePages, other.lengths]).toEqual([2, [0, 0]]);
    append(other, rows(4));
    const fork = other.fork();
    other.crop([3, 3]);
    expect(() => append(other, rows(1))).toThrow(/pages needed +2\n +pages free +0/); // copies of shared ones
    expect(marks(fork.read())[0]).toEqual([1, 1, 1, 1]);
    first.dispose();
    append(other, rows(1, 5));
    expect(marks(other.read())[0]).toEqual([1, 1, 1, 5]);
    for (const cache of [other, fork]) cache.dispose();
  });

  it('takes a page when rows are kept: of two caches that stage at once the first stages again', () => {
    const [first, other] = [new PagedCache(pool, shape), new PagedCache(pool, shape)];
    tf.tidy(() => {
      const early = first.stage(rows(2, 1));
      const late = other.stage(rows(2, 2));
      expect(() => early.stored.materialize()).toThrow(
        /another cache has taken the pages since: stage again/,
      );
      expect(early.commit).toThrow(/stage again/);
      late.commit();
    });
    expect([first.lengths, pool.freePages]).toEqual([[0, 0], 4]);
    append(first, rows(2, 1));
    expect([marks(first.read())[0], marks(other.read())[0]]).toEqual([
      [1, 1],
      [2, 2],
    ]);
    for (const cache of [first, other]) cache.dispose();
  });

  it('is refused a pool of other rows, and a pool is not disposed under it', () => {
    expect(() => new PagedCache(pool, { ...shape, heads: 2 })).toThrow(/rows must be those of the pool/);
    expect(() => new PagedCache({} as PagePool, shape)).toThrow(/pool must be a PagePool/);
    expect(() => new PagePool(shape, { pages: 0 })).toThrow(/pages must be a whole number above 0/);
    const cache = new PagedCache(pool, shape);
    append(cache, rows(1));
    expect(() => pool.dispose()).toThrow(/no cache may have pages/);
    cache.dispose();
  });

  it('is made again from JSON, with a pool of its own', () => {
    const cache = new PagedCache(pool, shape);
    const again = fromConfig(JSON.parse(JSON.stringify(cache)), [PagedCache, PagePool]) as PagedCache;
    expect(again.pool).toMatchObject({ pages: 6, pageSize: 4, shape });
    for (const own of [cache, again]) own.dispose();
    again.pool.dispose();
  });

  it('keeps latent rows, whose values are columns of keys', () => {
    const latent = { batch: 1, heads: 1, keySize: 5, valueSize: 0 };
    const own = new PagePool(latent, { pages: 3, pageSize: 2 });
    const cache = new PagedCache(own, latent);
    const key = tf.tensor4d(
      Array.from({ length: 15 }, (_, n) => n),
      [1, 1, 3, 5],
    );
    append(cache, { key, value: tf.zeros([1, 1, 3, 2]) });
    const { value } = cache.read().materialize();
    expect([...value.dataSync()]).toEqual([0, 1, 5, 6, 10, 11]);
    cache.dispose();
    own.dispose();
  });
});

describe('PagePool', () => {
  it('is refused where tensors cannot be written in place', async () => {
    const back = await useOpaqueBackend();
    expect(() => new PagePool(shape, { pages: 1 })).toThrow(/cannot be written in place/);
    await back();
  });
});
