import {
  expectClose,
  expectSameMemory,
  memoryNow,
  numbersOf,
  toHost,
  useOpaqueBackend,
} from '@polyhead/conformance';
import { allOf, causal, fromConfig, predicate, ShapeError, UnsupportedError } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { RingCache } from './index';
import { writesInPlace } from './row-cache';

const shape = { batch: 1, heads: 2, keySize: 3, valueSize: 3 };

/** Appends tokens whose numbers are their token order. */
function append(cache: RingCache, S: number): void {
  const [next] = cache.nextOrder;
  tf.tidy(() => {
    const marks = tf.reshape(tf.range(next!, next! + S), [1, 1, S, 1]);
    const rows = tf.mul(tf.ones([1, cache.shape.heads, S, 3]), marks) as tf.Tensor4D;
    cache.stage({ key: rows, value: rows }).commit();
  });
}

const marks = (cache: RingCache) =>
  numbersOf(tf.slice(cache.read().materialize().value, [0, 1, 0, 2], [1, 1, -1, 1]));

describe('RingCache', () => {
  it('keeps sinks beside the window: 252 and 4 are 256 tokens', () => {
    const cache = new RingCache(shape, { window: 252 });
    append(cache, 448);
    expect([cache.lengths, cache.nextOrder, cache.nextPosition]).toEqual([[256], [448], [448]]);
    expect(marks(cache)).toEqual([0, 1, 2, 3, ...Array.from({ length: 252 }, (_, n) => 196 + n)]);
    cache.dispose();
  });

  it.each([[[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]], [[11]], [[2, 3, 2, 4]], [[1, 9, 1]], [[5, 6]]])(
    'holds the same, however tokens come: %j',
    (counts) => {
      const cache = new RingCache(shape, { window: 3, sinks: 2 });
      for (const count of counts) append(cache, count);
      expect(marks(cache)).toEqual([0, 1, 8, 9, 10]);
      expect(cache.read().order).toEqual({ each: Int32Array.of(0, 1, 8, 9, 10) });
      cache.dispose();
    },
  );

  it('writes rows at their place: no tensor is made or freed', ({ skip }) => {
    skip(!writesInPlace(), 'no tensor can be changed here');
    const cache = new RingCache(shape, { window: 3, sinks: 1 });
    append(cache, 2);
    const [part] = cache.read().parts;
    const before = memoryNow();
    for (let step = 0; step < 9; step++) append(cache, 1);
    append(cache, 6);
    expectSameMemory(before);
    const [again] = cache.read().parts;
    expect([again!.key.data, again!.value.data]).toEqual([part!.key.data, part!.value.data]);
    expect(again!.runs(0).length).toBeLessThanOrEqual(6); // sinks, the older half, the newer
    cache.dispose();
  });

  it('shows rows that new ones would be written over, until those are kept', () => {
    const cache = new RingCache(shape, { window: 2, sinks: 1 });
    append(cache, 5);
    const nan = tf.fill<tf.Rank.R4>([1, 2, 2, 3], Number.NaN);
    tf.tidy(() => {
      const { stored } = cache.stage({ key: nan, value: nan });
      expect(stored.lengths).toEqual([5]);
      expect(numbersOf(tf.slice(stored.materialize().key, [0, 0, 0, 0], [1, 1, 3, 1]))).toEqual([0, 3, 4]);
    });
    expect(marks(cache)).toEqual([0, 3, 4]);
    append(cache, 1);
    expect(marks(cache)).toEqual([0, 4, 5]);
    cache.dispose();
  });

  it('says how far it can be cropped, and refuses more, unless only sinks stay', () => {
    const cache = new RingCache(shape, { window: 3, sinks: 2, rollback: 4 });
    append(cache, 7);
    expect(cache.removable).toEqual([7]);
    append(cache, 5);
    expect([cache.lengths, cache.removable]).toEqual([[8], [4]]);
    expect(() => cache.crop([3])).toThrow(UnsupportedError);
    expect(() => cache.crop([3])).toThrow(/removable +\[4\]/);
    expect(() => cache.crop([9])).toThrow(ShapeError);
    expect(marks(cache)).toEqual([0, 1, 6, 7, 8, 9, 10, 11]);
    cache.crop([4]);
    expect([cache.nextOrder, cache.removable]).toEqual([[8], [0]]);
    append(cache, 3);
    expect(marks(cache)).toEqual([0, 1, 6, 7, 8, 9, 10]);
    expect(cache.removable).toEqual([3]);
    cache.crop([2]);
    expect([cache.nextOrder, cache.removable]).toEqual([[2], [2]]);
    append(cache, 1);
    expect(marks(cache)).toEqual([0, 1, 2]);
    cache.dispose();
  });

  it('takes back tokens that were guessed, and goes on as if they had never come', () => {
    const layer = new GroupedQueryAttention({ embedDim: 12, numHeads: 4, numKeyValueHeads: 2, seed: 1 });
    const all = tf.randomNormal<tf.Rank.R3>([1, 14, 12], 0, 1, 'float32', 3);
    const cache = new RingCache(layer.cacheShape(1), { window: 4, sinks: 1, rollback: 3 });
    const sees = predicate((_b, _h, query, key) => key < 1 || key > query - 4);
    const expected = layer.apply({ query: all }, { mask: allOf(causal(), sees) }).output;
    const step = (from: number, to: number) =>
      layer.apply({ query: tf.slice(all, [0, from, 0], [1, to - from, 12]) }, { mask: causal(), cache })
        .output;
    const outputs = [step(0, 9)];
    for (const [from, to] of [
      [9, 11],
      [11, 14],
    ] as const) {
      const guess = tf.randomNormal<tf.Rank.R3>([1, 3, 12], 0, 1, 'float32', from);
      layer.apply({ query: guess }, { mask: causal(), cache });
      cache.crop([cache.lengths[0]! - 3]);
      outputs.push(step(from, to));
    }
    expectClose({
      actual: { output: toHost(tf.concat(outputs, 1)) },
      expected: { output: toHost(expected) },
    });
    cache.dispose();
    layer.dispose();
  });

  it('goes with its rows from one backend to another', async () => {
    const backend = tf.getBackend();
    const cache = new RingCache(shape, { window: 2, sinks: 1 });
    append(cache, 4);
    for (const backend of ['cpu', 'wasm']) {
      await tf.setBackend(backend);
      append(cache, 1);
    }
    expect(marks(cache)).toEqual([0, 4, 5]);
    await tf.setBackend(backend);
    cache.dispose();
  });

  it('holds values that are columns of keys, across the wrap', () => {
    const cache = new RingCache({ ...shape, heads: 1, valueSize: 0 }, { window: 2, sinks: 1 });
    for (let token = 0; token < 6; token++) {
      const key = tf.tensor4d([token, token + 0.5, 9], [1, 1, 1, 3]);
      tf.tidy(() => cache.stage({ key, value: tf.zeros([1, 1, 1, 2]) }).commit());
    }
    expect(numbersOf(cache.read().materialize().value)).toEqual([0, 0.5, 4, 4.5, 5, 5.5]);
    expect(cache.byteSize).toBe(3 * 3 * 4);
    cache.dispose();
  });

  it('is made again from JSON', () => {
    const cache = new RingCache(shape, { window: 3 });
    const json = JSON.parse(JSON.stringify(cache));
    expect(json).toEqual({ kind: 'RingCache', shape, options: { window: 3, sinks: 4, rollback: 1 } });
    const again = fromConfig(json, [RingCache]) as RingCache;
    expect([again.byteSize, again.window, again.sinks]).toEqual([cache.byteSize, 3, 4]);
    for (const held of [cache, again]) held.dispose();
  });

  it('refuses options that are missing or not known, and more than memory has', () => {
    const make = (options?: unknown) => () => new RingCache(shape, options as never);
    expect(make()).toThrow(/RingCache: options must be an object/);
    expect(make({})).toThrow(/window must be a whole number above 0/);
    expect(make({ window: 3, sinks: -1 })).toThrow(/sinks must be a whole number of at least 0/);
    expect(make({ window: 3, rollback: 0 })).toThrow(/rollback must be a whole number above 0/);
    expect(make({ window: 4, capacity: 2 })).toThrow(/unknown +\[capacity\]/);
    const before = memoryNow();
    expect(make({ window: 2 ** 31 })).toThrow(/bytes needed +\d{12}/);
    expectSameMemory(before);
  });

  it('does the same where tensors cannot be reached, and holds no more than before', async () => {
    const back = await useOpaqueBackend();
    const cache = new RingCache(shape, { window: 3, sinks: 2 });
    append(cache, 2);
    const before = memoryNow();
    for (const count of [1, 2, 4, 1, 1]) append(cache, count);
    expectSameMemory(before);
    expect(marks(cache)).toEqual([0, 1, 8, 9, 10]);
    cache.dispose();
    await back();
  });
});
