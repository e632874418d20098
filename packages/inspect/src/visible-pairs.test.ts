import {
  allOf,
  causal,
  dense,
  leftPadding,
  type Mask,
  predicate,
  slidingWindow,
  validLengths,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type PairsCall, visiblePairs } from './visible-pairs';

describe('visiblePairs', () => {
  it.each<[string, PairsCall, number]>([
    ['every pair without a mask', { batch: 2, queries: 3, keys: 5 }, 30],
    ['T (T + 1) / 2 of causal self-attention', { queries: 128, mask: causal() }, (128 * 129) / 2],
    ['causal, the last query at the last key', { queries: 2, keys: 5, mask: causal() }, 4 + 5],
    ['causal, the first query at the first key', { queries: 2, keys: 5, mask: causal(), queryStart: 0 }, 3],
    ['more causal queries than keys', { queries: 4, keys: 2, mask: causal() }, 1 + 2],
    ['a window, cut at both ends', { queries: 5, mask: slidingWindow({ left: 1, right: 1 }) }, 13],
    ['padding of each batch entry', { batch: 2, queries: 3, keys: 5, mask: validLengths([4, 1]) }, 15],
    [
      'causal rows that padding leaves empty',
      { batch: 2, queries: 4, mask: allOf(causal(), leftPadding([0, 3])) },
      11,
    ],
    ['keys that exist in a ragged cache', { batch: 2, queries: 1, keys: 7, lengths: [7, 3] }, 10],
    ['causal in a ragged cache', { batch: 2, queries: 2, keys: 7, lengths: [7, 3], mask: causal() }, 18],
  ])('counts %s', (_, call, pairs) => {
    expect(visiblePairs(call)).toBe(pairs);
    expect(visiblePairs(call, 3)).toBe(3 * pairs);
  });

  it('counts a mask that differs between heads', () => {
    const mask = predicate((_b, h, query, key) => key <= query + h);
    expect(visiblePairs({ queries: 4, mask }, 2)).toBe(10 + 13);
  });

  it('allocates nothing', () => {
    const before = tf.memory();
    visiblePairs({ batch: 2, queries: 512, mask: causal() }, 8);
    expect(tf.memory()).toEqual(before);
  });

  it('refuses a dense mask, whose spans are only a bound', () => {
    const mask: Mask = allOf(causal(), dense(tf.ones([3, 3], 'bool')));
    expect(() => visiblePairs({ queries: 3, mask })).toThrow(/pairs are counted from spans[\s\S]*dense/);
  });

  it.each<[PairsCall, RegExp]>([
    [undefined as never, /call must be an object/],
    [{ queries: 2, cachedKeys: 1 } as never, /unknown +\[cachedKeys\]/],
    [{ queries: 2, mask: 'causal' as never }, /mask must be a Mask, such as causal\(\)/],
    [{ queries: 2, lengths: 2 as never }, /lengths must have one number/],
    [{ queries: 0 }, /queries must be a whole number above 0/],
    [{ queries: 2, keys: 1.5 }, /keys must be/],
    [{ queries: 2, batch: 2, lengths: [1] }, /lengths must have one number for each batch entry/],
    [{ queries: 2, lengths: [3] }, /lengths must be whole numbers from 0 to 2, the keys/],
    [{ queries: 2, mask: causal(), queryStart: 0.5 }, /queryStart must be whole numbers/],
    [{ queries: 2, mask: causal(), queryStart: [0, 1] }, /queryStart must be one number, or one for each/],
    [{ queries: 2, mask: validLengths([1, 1]) }, /one length for each batch entry/],
  ])('refuses %j', (call, message) => {
    expect(() => visiblePairs(call)).toThrow(message);
  });
});
