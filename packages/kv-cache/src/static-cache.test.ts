import { expectSameMemory, heapBytes, memoryNow, numbersOf, useOpaqueBackend } from '@polyhead/conformance';
import { isAttentionError, ShapeError, UnsupportedError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StaticCache } from './index';
import { writesInPlace } from './row-cache';

const shape = { batch: 1, heads: 2, keySize: 3, valueSize: 3 };
const onWasm = (name: string, run: () => void | Promise<void>) =>
  it(name, ({ skip }) => {
    skip(process.env.POLYHEAD_BACKEND !== 'wasm', 'only wasm has such a heap');
    return run();
  });

const rows = (S: number, mark: number) => ({
  key: tf.fill<tf.Rank.R4>([1, 2, S, 3], mark),
  value: tf.fill<tf.Rank.R4>([1, 2, S, 3], mark),
});

const append = (cache: StaticCache, S: number, mark: number) =>
  tf.tidy(() => cache.stage(rows(S, mark)).commit());

const marks = (cache: StaticCache) =>
  numbersOf(tf.slice(cache.read().materialize().value, [0, 1, 0, 2], [1, 1, -1, 1]));

describe('StaticCache', () => {
  it('writes rows at their place: no tensor is made or freed', ({ skip }) => {
    skip(!writesInPlace(), 'no tensor can be changed here');
    const cache = new StaticCache(shape, { capacity: 4 });
    expect(cache.writes).toBe('in place');
    append(cache, 2, 1);
    const [part] = cache.read().parts;
    const before = memoryNow();
    append(cache, 1, 2);
    expectSameMemory(before);
    const [again] = cache.read().parts;
    expect([again!.key.data, again!.value.data]).toEqual([part!.key.data, part!.value.data]);
    expect(marks(cache)).toEqual([1, 1, 2]);
    cache.dispose();
  });

  it('throws where rows do not fit, with all numbers, and changes nothing', () => {
    const cache = new StaticCache(shape, { capacity: 4 });
    append(cache, 3, 1);
    expect(() => append(cache, 2, 2)).toThrow(ShapeError);
    expect(() => append(cache, 2, 2)).toThrow(
      /rows must fit into the capacity\n {2}capacity +4\n {2}lengths +\[3\]\n {2}new rows +\[2\]/,
    );
    expect(marks(cache)).toEqual([1, 1, 1]);
    append(cache, 1, 3);
    expect(marks(cache)).toEqual([1, 1, 1, 3]);
    expect(() => append(cache, 1, 2)).toThrow(/rows must fit/);
    cache.dispose();
  });

  it('never shows what lies in free slots', () => {
    const cache = new StaticCache(shape, { capacity: 4 });
    cache.stage(rows(4, Number.NaN));
    append(cache, 2, 1);
    expect(marks(cache)).toEqual([1, 1]);
    const { stored } = cache.stage(rows(1, 5));
    expect(numbersOf(tf.max(stored.materialize().key, [1, 3]))).toEqual([1, 1, 5]);
    expect(marks(cache)).toEqual([1, 1]);
    cache.dispose();
  });

  it('goes with its rows from one backend to another', async () => {
    const backend = tf.getBackend();
    const cache = new StaticCache(shape, { capacity: 4 });
    append(cache, 2, 1);
    for (const backend of ['cpu', 'wasm']) {
      await tf.setBackend(backend);
      append(cache, 1, 2);
      expect(numbersOf(cache.read().materialize().key)).toHaveLength(6 * cache.lengths[0]!);
    }
    expect(marks(cache)).toEqual([1, 1, 2, 2]);
    await tf.setBackend(backend);
    cache.dispose();
  });

  it('refuses options that are missing or not known', () => {
    const make = (options?: unknown) => () => new StaticCache(shape, options as never);
    expect(make()).toThrow(/StaticCache: options must be an object/);
    expect(make({})).toThrow(/capacity must be a whole number above 0/);
    expect(make({ capacity: 4, window: 2 })).toThrow(/unknown +\[window\]/);
  });

  it('names the bytes needed where there is not so much memory, and leaves nothing behind', () => {
    const before = memoryNow();
    const make = (heads: number, capacity: number) => () =>
      new StaticCache({ ...shape, heads }, { capacity });
    expect(make(2 ** 20, 2 ** 29)).toThrow(UnsupportedError);
    expect(make(2 ** 20, 2 ** 29)).toThrow(/bytes needed +\d{17}/);
    for (const capacity of [2 ** 30, 2 ** 31, 2 ** 32, 2 ** 33, 2 ** 53]) {
      expect(make(2, capacity)).toThrow(expect.toSatisfy(isAttentionError));
    }
    expectSameMemory(before);
  });

  onWasm('throws for more memory than there is, and leaves nothing behind', () => {
    const before = { ...memoryNow(), heap: heapBytes() };
    const large = { batch: 1, heads: 64, keySize: 64, valueSize: 64 };
    // 2 ** 32 bytes and a little: a number of 32 bits would show the little only.
    for (const capacity of [2 ** 18 - 1, 2 ** 18 + 1])
      expect(() => new StaticCache(large, { capacity })).toThrow(/the heap of the wasm backend is exhausted/);
    expectSameMemory(before);
    expect(heapBytes()).toBe(before.heap);
  });
});

describe('StaticCache where tensors cannot be reached', () => {
  let back: () => Promise<void>;
  beforeAll(async () => {
    back = await useOpaqueBackend();
  });
  afterAll(() => back());

  it('copies, says so, and holds no more than before', () => {
    const cache = new StaticCache(shape, { capacity: 4 });
    expect(cache.writes).toBe('by copy');
    const before = memoryNow();
    append(cache, 2, 1);
    append(cache, 1, 2);
    expectSameMemory(before);
    expect(marks(cache)).toEqual([1, 1, 2]);
    cache.dispose();
  });
});
