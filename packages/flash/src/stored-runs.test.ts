// Runs of stored rows come from caches when they are asked for: none that lies elsewhere is ever read.
import { expectNumbers } from '@polyhead/conformance';
import { attend, causal, type KeyValuePart, type StoredKeyValue } from '@polyhead/core';
import { GrowingCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';
import { attentionStatistics, exactWeights, rowEntropy } from './index';

const [heads, D] = [2, 4];

/** Five rows of each of two heads, of which a call has `lengths`. */
function storedBy(
  runs: (b: number) => unknown,
  lengths: readonly number[],
  more: Partial<KeyValuePart> = {},
): StoredKeyValue {
  const data = tf.ones<tf.Rank.R2>([heads * 5, D]);
  const rows = { data, first: 0, size: D };
  const part = { key: rows, value: rows, headStride: 5, runs, ...more } as KeyValuePart;
  return {
    heads,
    keySize: D,
    valueSize: D,
    lengths,
    order: { start: [0] },
    positions: { start: [0] },
    parts: [part],
    materialize: () => {
      throw new Error('rows were copied');
    },
  };
}

const run = (stored: StoredKeyValue) =>
  attend(fusedKernel(), { query: tf.ones([stored.lengths.length, heads, 1, D]), stored }, { mask: causal() });

describe('runs of stored rows', () => {
  it('may lie anywhere within the data, and be empty', () => {
    expectNumbers(run(storedBy(() => Int32Array.of(3, 2, 4, 0, 0, 1), [3])).output, Array(8).fill(1));
  });

  const within = /runs of stored rows must lie inside their data/;
  it.each<[string, unknown, RegExp]>([
    ['begin behind the data', Int32Array.of(5, 3), within],
    ['end behind the data', Int32Array.of(4, 3), within],
    ['lie far away', Int32Array.of(2 ** 30, 3), within],
    ['overflow', Int32Array.of(2 ** 31 - 1, 3), within],
    ['hold too few tokens', Int32Array.of(0, 2), /must sum to their lengths/],
    ['hold too many tokens', Int32Array.of(0, 4), /must sum to their lengths/],
    ['are none', Int32Array.of(), /must sum to their lengths/],
    ['are negative', Int32Array.of(-1, 3), within],
    ['count backwards', Int32Array.of(3, -3), within],
    ['are half', Int32Array.of(0, 3, 1), /must be an Int32Array of pairs/],
    ['are undefined', undefined, /must be an Int32Array of pairs/],
  ])('are refused where they %s', (_, runs, message) => {
    expect(() => run(storedBy(() => runs, [3]))).toThrow(message);
  });

  it.each([-1, 6, 2 ** 31])('are refused with a head stride of %d', (headStride) => {
    expect(() => run(storedBy(() => Int32Array.of(0, 5), [5], { headStride }))).toThrow(within);
  });

  it.each([Number.NaN, 0.5])('are refused with a head stride of %d, which is none', (headStride) => {
    expect(() => run(storedBy(() => Int32Array.of(0, 5), [5], { headStride }))).toThrow(
      /a whole number for headStride/,
    );
  });

  it('are refused where they have no scales', () => {
    const scales: tf.Tensor2D = tf.ones([2, 1]); // of 8 rows
    const rows = {
      data: tf.ones<tf.Rank.R2>([heads * 5, 1], 'int32'),
      first: 0,
      size: D,
      quantized: { bits: 8, scale: scales, rowsPerScale: 4 } as const,
    };
    const stored = storedBy(() => Int32Array.of(0, 5), [5], { key: rows, value: rows });
    expect(() => run(stored)).toThrow(within);
  });
});

describe('statistics of stored rows', () => {
  it('do not look behind the last key of a batch entry', () => {
    const cache = new GrowingCache({ batch: 2, heads: 1, keySize: 2, valueSize: 2 });
    const rows = tf.zeros<tf.Rank.R4>([2, 1, 5, 2]);
    tf.tidy(() => cache.stage({ key: rows, value: rows, lengths: [5, 2] }).commit());
    const inputs = { query: tf.ones<tf.Rank.R4>([2, 1, 1, 2]), stored: cache.read() };
    const { entropy, window } = attentionStatistics(
      inputs,
      {},
      { entropy: rowEntropy(), window: exactWeights() },
    );
    expectNumbers(entropy, [Math.log(5), Math.log(2)]);
    expectNumbers(window, [0.2, 0.2, 0.2, 0.2, 0.2, 0.5, 0.5, 0, 0, 0]);
    cache.dispose();
  });
});
