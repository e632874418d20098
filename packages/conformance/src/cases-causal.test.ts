// Where the diagonal of a causal mask stands when there are more keys than queries, or fewer.
import { attend, causal, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { randomTensor, seededRandom } from './inputs';
import { toHost, toTensor } from './kernel-run';
import { expectNumbers, zeroScores } from './scene';
import { maxError } from './tolerance';

const values = [1, 2, 3, 4, 5];
const mask = causal();

describe('the diagonal of a causal mask', () => {
  it('B1: ends at the last query and the last key', () => {
    expectNumbers(attend(composed(), zeroScores(2, values), { mask }).output, [2.5, 3]);
  });

  it('B1: hides every key from queries that stand before the first', () => {
    expectNumbers(attend(composed(), zeroScores(4, [1, 3]), { mask }).output, [0, 0, 1, 2]);
  });

  it('B2: hides nothing from a single query', () => {
    expectNumbers(attend(composed(), zeroScores(1, values), { mask }).output, [3]);
    expectNumbers(attend(composed(), zeroScores(1, values)).output, [3]);
  });

  it('B5: starts at the first query and the first key where it is asked to', () => {
    expectNumbers(attend(composed(), zeroScores(2, values), { mask, queryStart: 0 }).output, [1, 1.5]);
    expectNumbers(attend(composed(), zeroScores(2, values), { mask, queryStart: 1 }).output, [1.5, 2]);
  });

  it('B5: stands where each batch entry asks', () => {
    const twice = (x: tf.Tensor4D) => tf.concat([x, x], 0);
    const { query, key, value } = zeroScores(2, values);
    const scene = { query: twice(query), key: twice(key), value: twice(value) };
    expectNumbers(attend(composed(), scene, { mask, queryStart: [0, 3] }).output, [1, 1.5, 2.5, 3]);
  });

  it('B4: gives the last query alone what it gives it among others, and the same gradients', () => {
    const random = seededRandom(4);
    const [query, key, value] = [0, 1, 2].map(
      () => toTensor(randomTensor([2, 3, 7, 4], random)) as tf.Tensor4D,
    );
    const lastRow = (x: tf.Tensor) => tf.slice(x, [0, 0, 6, 0], [-1, -1, 1, -1]) as tf.Tensor4D;
    const among = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) =>
      lastRow(attend(composed(), { query: q, key: k, value: v } as never, { mask }).output);
    const alone = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) =>
      attend(composed(), { query: lastRow(q), key: k, value: v } as never, { mask }).output;
    const inputs = [query!, key!, value!] as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D];
    expect(maxError(toHost(among(...inputs)), toHost(alone(...inputs)))).toBeLessThan(1e-6);
    const gradients = [among, alone].map((output) =>
      tf.grads((...x) => tf.sum(tf.square(output(x[0]!, x[1]!, x[2]!))))(inputs),
    );
    gradients[0]!.forEach((gradient, n) => {
      expect(maxError(toHost(gradient), toHost(gradients[1]![n]!))).toBeLessThan(1e-5);
    });
  });
});
