// Rows of 8 and 4 bits are read as they lie: many rows, one token and statistics give what the same numbers give as floats.
import { expectNumbers, numbersOf } from '@polyhead/conformance';
import { allOf, attend, causal, composed, type StoredKeyValue, validLengths } from '@polyhead/core';
import { QuantizedCache, type QuantizedCacheOptions } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';
import { attentionStatistics, exactWeights } from './index';

const shape = { batch: 2, heads: 2, keySize: 64, valueSize: 36 };
const kinds: [string, QuantizedCacheOptions][] = [
  ['int8', {}],
  ['keys int8, values int4', { values: 'int4' }],
  ['int4', { keys: 'int4', values: 'int4' }],
  ['keys int4 by channel', { keys: 'int4-channel', values: 'int4', residual: 3 }],
];

const random = (H: number, S: number, size: number, seed: number) =>
  tf.randomNormal<tf.Rank.R4>([shape.batch, H, S, size], 0, 1, 'float32', seed);

/** Rows that nobody may copy. */
function asTheyLie(stored: StoredKeyValue): StoredKeyValue {
  const materialize = {
    value: () => {
      throw new Error('rows were copied');
    },
  };
  return Object.defineProperties({} as StoredKeyValue, {
    ...Object.getOwnPropertyDescriptors(stored),
    materialize,
  });
}

it.each(kinds)('%s', (_, options) => {
  const cache = new QuantizedCache(shape, options);
  for (const [n, lengths] of [
    [70, 41],
    [1, 1],
    [2, 0],
  ].entries()) {
    const S = Math.max(...lengths);
    const rows = { key: random(2, S, 64, n + 1), value: random(2, S, 36, n + 5), lengths };
    tf.tidy(() => cache.stage(rows).commit());
  }
  const { lengths } = cache;
  const stored = asTheyLie(cache.read());
  const floats = cache.read().materialize();
  const kernel = fusedKernel({ rowsPerTile: 4, keysPerTile: 8 });
  for (const S of [1, 5, 9]) {
    const query = random(6, S, 64, S + 20);
    const expected = attend(
      composed(),
      { query, ...floats },
      {
        mask: allOf(causal(), validLengths(lengths)),
        queryStart: lengths.map((length) => length - S),
        returns: ['weights'],
      },
    );
    const own = attend(kernel, { query, stored }, { mask: causal() });
    expect(own.kernel).toBe(kernel.name);
    expectNumbers(own.output, numbersOf(expected.output));
    const { weights } = attentionStatistics(
      { query, stored },
      { mask: causal() },
      { weights: exactWeights() },
    );
    expectNumbers(weights, numbersOf(expected.weights!));
  }
  cache.dispose();
});
