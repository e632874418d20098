// Known traps of key/value caches; those of cross-attention stand beside this file, J1 is in `decode.devices.test.ts`.
import { expectClose, expectSameMemory, memoryNow, numbersOf, toHost } from '@polyhead/conformance';
import {
  type Attention,
  allOf,
  attend,
  causal,
  composed,
  leftPadding,
  type Mask,
  slidingWindow,
} from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasPages, ownPool } from './fixtures/own-pool';
import { GrowingCache, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const E = 12;
const mask = causal();
const layer = () => new MultiHeadAttention({ embedDim: E, numHeads: 3, seed: 8 });
const tokens = (B: number, S: number, seed = 9) =>
  tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', seed);

const kinds: [string, (attention: Attention, B?: number) => RowCache][] = [
  ['GrowingCache', (attention, B = 1) => new GrowingCache(attention.cacheShape(B))],
  ['StaticCache', (attention, B = 1) => new StaticCache(attention.cacheShape(B), { capacity: 80 })],
  ['RingCache', (attention, B = 1) => new RingCache(attention.cacheShape(B), { window: 70 })],
  ...(hasPages ? [['PagedCache', pagedCache] as [string, typeof pagedCache]] : []),
];

function pagedCache(attention: Attention, B = 1): RowCache {
  return ownPool(attention.cacheShape(B), 16);
}

/** The outputs of tokens `from` to `to`. */
function step(
  attention: Attention,
  all: tf.Tensor3D,
  [from, to]: readonly [number, number],
  call: {
    readonly cache?: RowCache;
    readonly mask: Mask;
  },
): Float64Array {
  return toHost(attention.apply({ query: tf.slice(all, [0, from, 0], [-1, to - from, E]) }, call).output);
}

function expectSame(actual: Float64Array, expected: Float64Array): void {
  expectClose({ actual: { output: actual }, expected: { output: expected } });
}

/** The last rows of an output [1, S, E]. */
const lastRows = (output: Float64Array, count: number) => output.subarray(output.length - count * E);

describe.each(kinds)('%s', (_, create) => {
  let attention: MultiHeadAttention;
  beforeEach(() => {
    attention = layer();
  });
  afterEach(() => attention.dispose());

  it.each([
    [20, 4],
    [0, 16],
    [16, 1],
    [64, 1],
  ])('J2: %i tokens in the cache and %i new ones are causal', (past, size) => {
    const cache = create(attention, 2);
    const all = tokens(2, past + size);
    if (past > 0) step(attention, all, [0, past], { cache, mask });
    const query = tf.slice(all, [0, past, 0], [-1, size, E]);
    const { output } = attention.apply({ query: all }, { mask });
    expectSame(
      toHost(attention.apply({ query }, { cache, mask }).output),
      toHost(tf.slice(output, [0, past, 0], [-1, size, E])),
    );
    cache.dispose();
  });

  it('J5: a first chunk longer than the window sees what it should, and so does the next token', () => {
    const cache = create(attention);
    const all = tokens(1, 11);
    const window = slidingWindow({ left: 3, right: 0 });
    const expected = step(attention, all, [0, 11], { mask: window });
    expectSame(step(attention, all, [0, 10], { cache, mask: window }), expected.subarray(0, 10 * E));
    expectSame(step(attention, all, [10, 11], { cache, mask: window }), lastRows(expected, 1));
    cache.dispose();
  });

  it('J9: is cropped to nothing', () => {
    const cache = create(attention);
    step(attention, tokens(1, 3), [0, 3], { cache, mask });
    expect(() => cache.crop([-5])).toThrow(/lengths must be whole numbers of at least 0/);
    cache.crop([0]);
    expect(cache.lengths).toEqual([0]);
    cache.dispose();
  });

  it('J10: holds no stale rows after a reset', () => {
    const cache = create(attention);
    const all = tokens(1, 5);
    step(attention, all, [0, 5], { cache, mask });
    cache.reset();
    const again = tokens(1, 2, 10);
    expectSame(step(attention, again, [0, 2], { cache, mask }), step(attention, again, [0, 2], { mask }));
    expect(cache.lengths).toEqual([2]);
    cache.dispose();
  });

  it('J11: is as no cache while it is empty', () => {
    const cache = create(attention);
    const all = tokens(1, 4);
    expectSame(step(attention, all, [0, 4], { cache, mask }), step(attention, all, [0, 4], { mask }));
    cache.reset();
    const { output } = attend(composed(), { query: tf.ones([1, 3, 2, 4]), stored: cache.read() });
    expect(numbersOf(output)).toEqual(Array(24).fill(0));
    cache.dispose();
  });

  it('J12: throws for rows of other shapes', () => {
    const cache = create(attention);
    const call = { cache, mask };
    expect(() => attention.apply({ query: tokens(2, 1) }, call)).toThrow(
      /key must fit the cache: \[1, 3, S, 4\]/,
    );
    const other = new MultiHeadAttention({ embedDim: E, numHeads: 2 });
    expect(() => other.apply({ query: tokens(1, 1) }, call)).toThrow(/key must fit the cache/);
    const wide = new MultiHeadAttention({ embedDim: E, numHeads: 3, valueHeadDim: 5 });
    expect(() => wide.apply({ query: tokens(1, 1) }, call)).toThrow(
      /value must fit the cache: \[1, 3, S, 4\]/,
    );
    expect(cache.lengths).toEqual([0]);
    cache.dispose();
  });

  it('J20: gives all its memory back, also where results are kept', () => {
    const all = tokens(1, 4);
    const before = memoryNow();
    const cache = create(attention);
    const results = tf.tidy(() => tf.tensor(Array.from(step(attention, all, [0, 4], { cache, mask }))));
    cache.dispose();
    cache.dispose();
    results.dispose();
    expectSameMemory(before);
    expect(() => step(attention, all, [0, 1], { cache, mask })).toThrow(/the cache must not be disposed/);
  });

  it('J21: made and filled inside a tidy, it lives on', () => {
    const all = tokens(1, 5);
    let cache: RowCache | undefined;
    tf.tidy(() => {
      cache = create(attention);
      step(attention, all, [0, 4], { cache, mask });
    });
    const expected = step(attention, all, [0, 5], { mask });
    expectSame(step(attention, all, [4, 5], { cache: cache!, mask }), lastRows(expected, 1));
    cache!.dispose();
  });

  it('J22: hides left padding at every later step', () => {
    const cache = create(attention);
    const all = tokens(1, 8);
    const padded = allOf(mask, leftPadding([2]));
    const expected = step(attention, tf.slice(all, [0, 2, 0], [1, 6, E]), [0, 6], { mask });
    step(attention, all, [0, 5], { cache, mask: padded });
    for (let i = 5; i < 8; i++) {
      expectSame(
        step(attention, all, [i, i + 1], { cache, mask: padded }),
        expected.subarray((i - 2) * E, (i - 1) * E),
      );
    }
    cache.dispose();
  });

  it('J23: goes on in the next turn where the last one ended', () => {
    const cache = create(attention);
    const all = tokens(1, 9);
    step(attention, all, [0, 4], { cache, mask });
    step(attention, tokens(1, 2, 14), [0, 2], { cache, mask }); // said, and taken back
    cache.crop([4]);
    const cold = step(attention, all, [0, 9], { mask });
    expectSame(step(attention, all, [4, 9], { cache, mask }), lastRows(cold, 5));
    cache.dispose();
  });
});

describe('J6: all caches', () => {
  it('give the same', () => {
    const attention = layer();
    const all = tokens(1, 6);
    const [growing, ...others] = kinds.map(([, create]) => {
      const cache = create(attention);
      const outputs = [0, 1, 2, 3, 4, 5].map((i) => step(attention, all, [i, i + 1], { cache, mask }));
      cache.dispose();
      return Float64Array.from(outputs.flatMap((output) => [...output]));
    });
    for (const other of others) expectSame(other, growing!);
    attention.dispose();
  });
});

describe('RingCache', () => {
  it('J3: of capacity 4 holds tokens 6, 7, 8, 9 of 0 to 9, in this order', () => {
    const cache = new RingCache({ batch: 1, heads: 1, keySize: 1, valueSize: 1 }, { window: 4, sinks: 0 });
    for (let token = 0; token < 10; token++) {
      const row = tf.fill<tf.Rank.R4>([1, 1, 1, 1], token);
      tf.tidy(() => cache.stage({ key: row, value: row }).commit());
    }
    expect(numbersOf(cache.read().materialize().key)).toEqual([6, 7, 8, 9]);
    expect(cache.read().order).toEqual({ start: [6] });
    cache.dispose();
  });

  it('J5: of a window of 4 takes 10 tokens in one call, then 1', () => {
    const attention = layer();
    const cache = new RingCache(attention.cacheShape(1), { window: 4, sinks: 0 });
    const all = tokens(1, 11);
    const expected = step(attention, all, [0, 11], { mask: slidingWindow({ left: 3, right: 0 }) });
    expectSame(step(attention, all, [0, 10], { cache, mask }), expected.subarray(0, 10 * E));
    expectSame(step(attention, all, [10, 11], { cache, mask }), lastRows(expected, 1));
    expect(cache.lengths).toEqual([4]);
    cache.dispose();
    attention.dispose();
  });
});

describe('StaticCache', () => {
  let attention: MultiHeadAttention;
  beforeEach(() => {
    attention = layer();
  });
  afterEach(() => attention.dispose());

  it('J7: of which little is used gives what an exact one gives, whatever the rest holds', () => {
    const all = tokens(1, 4);
    const [exact, wide] = [4, 8].map((capacity) => new StaticCache(attention.cacheShape(1), { capacity }));
    wide!.stage({ key: tf.fill([1, 3, 8, 4], Number.NaN), value: tf.fill([1, 3, 8, 4], Number.NaN) });
    for (const range of [
      [0, 3],
      [3, 4],
    ] as const)
      expectSame(
        step(attention, all, range, { cache: wide!, mask }),
        step(attention, all, range, { cache: exact!, mask }),
      );
    exact!.dispose();
    wide!.dispose();
  });

  it('J8: throws where it is full, and is as it was', () => {
    const cache = new StaticCache(attention.cacheShape(1), { capacity: 4 });
    const all = tokens(1, 6);
    step(attention, all, [0, 3], { cache, mask });
    const before = toHost(cache.read().materialize().key);
    expect(() => step(attention, all, [3, 5], { cache, mask })).toThrow(/rows must fit into the capacity/);
    expect(cache.lengths).toEqual([3]);
    expect(toHost(cache.read().materialize().key)).toEqual(before);
    cache.dispose();
  });

  it('J19: does not grow in 100 steps', () => {
    const cache = new StaticCache(attention.cacheShape(1), { capacity: 100 });
    const query = tokens(1, 1);
    const decode = () => tf.tidy(() => void attention.apply({ query }, { cache, mask }));
    decode();
    const before = memoryNow();
    for (let i = 1; i < 100; i++) decode();
    expectSameMemory(before);
    cache.dispose();
  });
});
