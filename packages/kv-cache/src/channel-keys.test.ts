// Keys in 4 bits by channel, beside plain arrays that are quantized as KIVI says: 32 tokens of a number share a scale.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { attend, causal, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cacheFromBytes, cacheToBytes, predictCacheBytes, QuantizedCache } from './index';

const shape = { batch: 2, heads: 2, keySize: 5, valueSize: 3 };
const { heads, keySize } = shape;
const options = { keys: 'int4-channel', residual: 3 } as const;
const bytesOf = (tokens: readonly number[]) =>
  predictCacheBytes(QuantizedCache, shape, { ...options, tokens });

type Key = readonly number[]; // [heads · keySize]
type Entries = readonly (readonly Key[])[]; // [B][tokens]

/** What is read of keys of which all whole blocks but for the newest tokens have been quantized. */
function stored(keys: readonly Key[]): Key[] {
  const inBlocks = Math.floor(Math.max(0, keys.length - options.residual) / 32) * 32;
  return keys.map((key, token) => {
    if (token >= inBlocks) return key;
    const block = keys.slice(token - (token % 32), token - (token % 32) + 32);
    return key.map((x, i) => {
      const channel = block.map((other) => other[i]!).filter(Number.isFinite);
      const [least, most] = [Math.min(...channel), Math.max(...channel)];
      const [zero, scale] = [Math.fround(least), Math.fround((most - least) / 15)];
      if (scale === 0 || !Number.isFinite(x)) return zero;
      return Math.fround(zero + scale * Math.min(Math.max(Math.round((x - zero) / scale), 0), 15));
    });
  });
}

const random = (seed: number) => Math.fround(Math.sin(seed * 12.9898) * 10 ** (1 + (seed % 3)));
const newKey = (seed: number): Key =>
  Array.from({ length: heads * keySize }, (_, i) => random(seed * 31 + i));

function append(cache: QuantizedCache, added: Entries): void {
  tf.tidy(() => cache.stage(rowsOf(added)).commit());
}

function rowsOf(added: Entries) {
  const S = Math.max(...added.map((keys) => keys.length));
  const at = (b: number, h: number, s: number) => added[b]?.[s]?.slice(h * keySize, (h + 1) * keySize);
  const key = [0, 1].flatMap((b) =>
    [0, 1].flatMap((h) =>
      Array.from({ length: S }, (_, s) => at(b, h, s) ?? Array(keySize).fill(NaN)).flat(),
    ),
  );
  return {
    key: tf.tensor4d(key, [2, heads, S, keySize]),
    value: tf.ones<tf.Rank.R4>([2, heads, S, shape.valueSize]),
    lengths: added.map((keys) => keys.length),
  };
}

function expectKeys(actual: tf.Tensor4D, entries: Entries): void {
  const S = Math.max(...entries.map((keys) => keys.length));
  const numbers = actual.dataSync();
  entries.forEach((keys, b) => {
    keys.forEach((key, s) => {
      key.forEach((x, n) => {
        const [h, i] = [Math.floor(n / keySize), n % keySize];
        const difference = Math.abs(numbers[((b * heads + h) * S + s) * keySize + i]! - x);
        if (!(difference <= 1e-6 * Math.max(...keys.map((other) => Math.abs(other[n]!)))))
          expect.unreachable(`entry ${b}, token ${s}, number ${n}: off by ${difference}`);
      });
    });
  });
}

const counts = fc.tuple(fc.nat(40), fc.nat(40));
const actions = fc.oneof(
  { weight: 5, arbitrary: fc.record({ action: fc.constant('append' as const), counts }) },
  { weight: 2, arbitrary: fc.record({ action: fc.constant('crop' as const), counts }) },
  { weight: 1, arbitrary: fc.record({ action: fc.constant('select' as const), counts }) },
  {
    weight: 4,
    arbitrary: fc.record({
      action: fc.constantFrom(...(['leave', 'fork', 'write down', 'reset'] as const)),
      counts,
    }),
  },
);

describe('QuantizedCache with keys by channel', () => {
  it('does what arrays do, in any sequence', async () => {
    const sequences = fc.array(actions, { minLength: 3, maxLength: 9 });
    const property = fc.asyncProperty(sequences, async (sequence) => {
      const before = memoryNow();
      let cache = new QuantizedCache(shape, options);
      let entries: Entries = [[], []];
      let seed = 1;
      const others: { readonly cache: QuantizedCache; readonly entries: Entries }[] = [];
      for (const { action, counts } of sequence) {
        if (action === 'append' || action === 'leave') {
          const added = counts.map((count) => Array.from({ length: count }, () => newKey(seed++)));
          if (action === 'append') append(cache, added);
          else tf.tidy(() => void cache.stage(rowsOf(added)));
          if (action === 'append') entries = entries.map((keys, b) => stored([...keys, ...added[b]!]));
        } else if (action === 'crop') {
          const kept = entries.map((keys, b) => Math.max(0, keys.length - counts[b]!));
          cache.crop(kept);
          entries = entries.map((keys, b) => stored(keys.slice(0, kept[b]!)));
        } else if (action === 'fork' || action === 'write down') {
          others.push({ cache, entries });
          const empty = new QuantizedCache(shape, options);
          cache = action === 'fork' ? cache.fork() : cacheFromBytes(await cacheToBytes(cache), empty);
        } else if (action === 'reset') {
          cache.reset();
          entries = [[], []];
        } else {
          cache.select(counts.map((n) => n % 2));
          entries = counts.map((n) => entries[n % 2]!);
        }
        const lengths = entries.map((keys) => keys.length);
        expect(cache.lengths).toEqual(lengths);
        expect(cache.byteSize).toBe(bytesOf(lengths));
        tf.tidy(() => expectKeys(cache.read().materialize().key, entries));
      }
      others.push({ cache, entries });
      for (const own of others) tf.tidy(() => expectKeys(own.cache.read().materialize().key, own.entries));
      const held = others.reduce((sum, own) => sum + own.cache.byteSize, 0);
      expect(memoryNow().numBytes - before.numBytes).toBe(held);
      for (const own of others) own.cache.dispose();
      expectSameMemory(before);
    });
    await fc.assert(property, { seed: 7, numRuns: process.env.POLYHEAD_LONG ? 2000 : 60 });
  }, 600_000);

  it('is off by half a step of the block at most, and not at all in the newest tokens', () => {
    const keys = Array.from({ length: 70 }, (_, n) => newKey(n));
    const cache = new QuantizedCache(shape, options);
    for (const [from, to] of [
      [0, 50],
      [50, 51],
      [51, 70],
    ] as const)
      append(cache, [keys.slice(from, to), keys.slice(from, to)]);
    const numbers = cache.read().materialize().key.dataSync();
    keys.forEach((key, token) => {
      const block = keys.slice(token - (token % 32), token - (token % 32) + 32);
      for (let i = 0; i < keySize; i++) {
        const channel = block.map((other) => other[i]!);
        const step = token < 64 ? (Math.max(...channel) - Math.min(...channel)) / 15 : 0;
        const bound = step / 2 + 1e-6 * Math.max(...channel.map(Math.abs)) * Math.sign(step);
        expect(Math.abs(numbers[token * keySize + i]! - key[i]!)).toBeLessThanOrEqual(bound);
      }
    });
    cache.dispose();
  });

  it('shows a call its own keys exactly', () => {
    const keys = Array.from({ length: 40 }, (_, n) => newKey(n));
    const cache = new QuantizedCache(shape, options);
    tf.tidy(() => expectKeys(cache.stage(rowsOf([keys, keys])).stored.materialize().key, [keys, keys]));
    cache.dispose();
  });

  it('lets a key that is not finite spoil the rows that see it, and no others', () => {
    const keys = Array.from({ length: 35 }, (_, n) => newKey(n).map((x) => x / 100));
    keys[4] = keys[4]!.map((x, i) => (i === 2 ? Number.NaN : x));
    const cache = new QuantizedCache(shape, options);
    append(cache, [keys, keys]);
    const query = tf.ones<tf.Rank.R4>([2, heads, 35, keySize]);
    const { output } = attend(composed(), { query, stored: cache.read() }, { mask: causal() });
    const rows = output.dataSync();
    for (let row = 0; row < 35; row++) expect(Number.isNaN(rows[row * shape.valueSize])).toBe(row >= 4);
    cache.dispose();
  });

  it('leaves tokens before those that are taken back as they were', () => {
    const keys = Array.from({ length: 36 }, (_, n) => newKey(n));
    const [once, again] = [new QuantizedCache(shape, options), new QuantizedCache(shape, options)];
    append(once, [keys, keys]);
    append(again, [keys, keys]);
    again.crop([33, 33]);
    append(again, [keys.slice(33), keys.slice(33)]);
    expectKeys(again.read().materialize().key, [stored(keys), stored(keys)]);
    for (const cache of [once, again]) cache.dispose();
  });
});
