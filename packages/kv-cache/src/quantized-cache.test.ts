import {
  expectClose,
  expectSameMemory,
  memoryNow,
  numbersOf,
  toHost,
  useOpaqueBackend,
} from '@polyhead/conformance';
import { attend, causal, composed, fromConfig, UnsupportedError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { GrowingCache, type NumberFormat, predictCacheBytes, QuantizedCache } from './index';

const shape = { batch: 2, heads: 3, keySize: 64, valueSize: 37 };
const formats: [NumberFormat, NumberFormat][] = [
  ['int8', 'int8'],
  ['int8', 'int4'],
  ['int4', 'int4'],
];

/** Rows of very different sizes, and rows of zeros and of one number. */
function rows(S: number, seed = 1) {
  const row = (size: number, of: number) => {
    const random = tf.randomNormal<tf.Rank.R4>([2, 3, S, size], 0, 1, 'float32', seed + of);
    const sizes = tf.pow(10, tf.randomUniform([2, 3, S, 1], -6, 6, 'float32', seed + 10 + of));
    return tf.mul(random, sizes) as tf.Tensor4D;
  };
  return { key: row(64, 0), value: row(37, 5) };
}

/** What a row of that format may be off by: half a step between its numbers, and a rounding of floats. */
function boundsOf(row: Float32Array, format: NumberFormat): number[] {
  const largest = Math.max(...row.map(Math.abs));
  const steps = (part: Float32Array) => (Math.max(...part) - Math.min(...part)) / 15;
  const parts = Math.ceil(row.length / 32);
  return Array.from(row, (_, i) => {
    const part = Math.floor((i * parts) / row.length);
    const own = row.filter((_, n) => Math.floor((n * parts) / row.length) === part);
    return (format === 'int8' ? largest / 127 : steps(own)) / 2 + largest * 2 ** -22;
  });
}

function expectWithin(actual: tf.Tensor4D, expected: tf.Tensor4D, format: NumberFormat): void {
  const size = expected.shape[3];
  const [numbers, exact] = [actual.dataSync() as Float32Array, expected.dataSync() as Float32Array];
  expect(numbers.length).toBe(exact.length);
  for (let at = 0; at < exact.length; at += size) {
    const row = exact.subarray(at, at + size);
    boundsOf(row, format).forEach((bound, i) => {
      expect(Math.abs(numbers[at + i]! - row[i]!)).toBeLessThanOrEqual(bound);
    });
  }
}

const append = (cache: QuantizedCache, newRows: Parameters<QuantizedCache['stage']>[0]) =>
  tf.tidy(() => cache.stage(newRows).commit());

describe.each(formats)('QuantizedCache with keys %s, values %s', (keys, values) => {
  it('is off by no more than half a step of each row', () => {
    const cache = new QuantizedCache(shape, { keys, values });
    const newRows = rows(9);
    append(cache, newRows);
    const { key, value } = tf.tidy(() => cache.read().materialize());
    expectWithin(key, newRows.key, keys);
    expectWithin(value, newRows.value, values);
    cache.dispose();
  });

  it('holds the bytes predicted, scales included, whatever each entry holds', () => {
    const cache = new QuantizedCache(shape, { keys, values });
    const newRows = { ...rows(5), lengths: [5, 2] };
    const before = memoryNow().numBytes;
    append(cache, newRows);
    const bytes = predictCacheBytes(QuantizedCache, shape, { keys, values, tokens: [5, 2] });
    expect([cache.byteSize, memoryNow().numBytes - before]).toEqual([bytes, bytes]);
    const row = { int8: [16 + 1, 10 + 1], int4: [8 + 2 * 2, 5 + 2 * 2] } as const; // words, scales and zeros
    expect(bytes).toBe(7 * 3 * (row[keys][0] + row[values][1]) * 4);
    cache.crop([1, 0]);
    expect(cache.byteSize).toBe(predictCacheBytes(QuantizedCache, shape, { keys, values, tokens: [1, 0] }));
    cache.dispose();
    expect(memoryNow().numBytes).toBe(before);
  });

  it('gives a kernel the same rows, however tokens come', () => {
    const all = rows(7);
    const [one, other] = [1, 2].map(() => new QuantizedCache(shape, { keys, values }));
    append(one!, all);
    for (const [from, count] of [
      [0, 3],
      [3, 1],
      [4, 3],
    ] as const) {
      const part = (x: tf.Tensor4D) => tf.slice(x, [0, 0, from, 0], [-1, -1, count, -1]);
      append(other!, { key: part(all.key), value: part(all.value) });
    }
    const [a, b] = [one!, other!].map((cache) => cache.read().materialize());
    expect(numbersOf(b!.key)).toEqual(numbersOf(a!.key));
    expect(numbersOf(b!.value)).toEqual(numbersOf(a!.value));
    one!.select([1, 1]);
    const selected = numbersOf(one!.read().materialize().key);
    const half = selected.length / 2;
    expect(selected.slice(0, half)).toEqual(numbersOf(a!.key).slice(half));
    for (const cache of [one!, other!]) cache.dispose();
  });

  it('is attended to as the floats that it stands for', () => {
    const cache = new QuantizedCache(shape, { keys, values });
    append(cache, { ...rows(8), lengths: [8, 5] });
    const query = tf.randomNormal<tf.Rank.R4>([2, 6, 1, 64], 0, 1, 'float32', 4);
    const exact = new GrowingCache(shape);
    const stored = cache.read();
    tf.tidy(() => exact.stage({ ...stored.materialize(), lengths: [8, 5] }).commit());
    const call = { mask: causal() };
    expectClose({
      actual: { output: toHost(attend(composed(), { query, stored: cache.read() }, call).output) },
      expected: { output: toHost(attend(composed(), { query, stored: exact.read() }, call).output) },
    });
    for (const held of [cache, exact]) held.dispose();
  });

  it('leaves nothing behind', () => {
    const newRows = rows(6);
    const before = memoryNow();
    const cache = new QuantizedCache(shape, { keys, values });
    tf.tidy(() => void cache.stage(newRows)); // never kept
    for (let step = 0; step < 3; step++) append(cache, newRows);
    cache.crop([13, 4]);
    expect(memoryNow().numBytes - before.numBytes).toBe(cache.byteSize);
    cache.dispose();
    expectSameMemory(before);
  });
});

describe('QuantizedCache', () => {
  it('keeps zeros and constants, and makes rows that are not finite NaN', () => {
    const one = { batch: 1, heads: 1, keySize: 4, valueSize: 4 };
    const cache = new QuantizedCache(one, { values: 'int4' });
    const key = tf.tensor4d(
      [0, 0, 0, 0, 1, 2, Number.NaN, 3, 1, Infinity, 0, 0, -3, -3, -3, -3],
      [1, 1, 4, 4],
    );
    append(cache, { key, value: key });
    const stored = cache.read().materialize();
    const [keys, values] = [numbersOf(stored.key), numbersOf(stored.value)];
    for (const numbers of [keys, values]) {
      expect(numbers.slice(0, 4)).toEqual([0, 0, 0, 0]);
      expect(numbers.slice(4, 12).every(Number.isNaN)).toBe(true);
    }
    expect(values.slice(12)).toEqual([-3, -3, -3, -3]);
    for (const number of keys.slice(12)) expect(number).toBeCloseTo(-3, 6);
    cache.dispose();
  });

  it('is made again from JSON', () => {
    const cache = new QuantizedCache(shape, { values: 'int4' });
    const json = JSON.parse(JSON.stringify(cache));
    expect(json).toEqual({ kind: 'QuantizedCache', shape, options: { keys: 'int8', values: 'int4' } });
    expect(fromConfig(json, [QuantizedCache])).toBeInstanceOf(QuantizedCache);
  });

  it('refuses formats and options that are not known, and values that are columns of keys', () => {
    const make = (options: unknown) => () => new QuantizedCache(shape, options as never);
    expect(make({ keys: 'int2' })).toThrow(/keys must be one of int8, int4, int4-channel/);
    expect(make({ bits: 8 })).toThrow(/unknown +\[bits\]/);
    expect(make({ values: 'int4-channel' })).toThrow(/values must be one of int8, int4$/m);
    expect(make({ residual: 8 })).toThrow(/residual needs keys 'int4-channel'/);
    expect(make({ keys: 'int4-channel', residual: -1 })).toThrow(/residual must be a whole number/);
    expect(() => new QuantizedCache({ ...shape, valueSize: 0 })).toThrow(
      /values must have rows of their own/,
    );
  });

  it('says where numbers cannot be read, and changes nothing', async () => {
    const back = await useOpaqueBackend();
    const cache = new QuantizedCache(shape);
    const newRows = rows(2);
    const before = memoryNow();
    expect(() => append(cache, newRows)).toThrow(UnsupportedError);
    expect(() => append(cache, newRows)).toThrow(/rows must be readable to be quantized/);
    expect(cache.lengths).toEqual([0, 0]);
    expectSameMemory(before);
    cache.dispose();
    await back();
  });
});
