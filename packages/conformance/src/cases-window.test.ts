// Sliding windows.
import {
  allOf,
  attend,
  causal,
  composed,
  firstSupported,
  type Mask,
  scaledDotProductAttention,
  slidingWindow,
  validLengths,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { randomTensor, seededRandom } from './inputs';
import { toTensor } from './kernel-run';
import { expectNumbers, numbersOf, zeroScores } from './scene';

const values = [1, 2, 3, 4];
const causalWindow = (width: number) => slidingWindow({ left: width - 1, right: 0 });
const outputOf = (queries: number, mask: Mask) =>
  attend(composed(), zeroScores(queries, values), { mask }).output;

describe('a causal window of width W', () => {
  it('I1: counts the token itself', () => {
    expectNumbers(outputOf(4, causalWindow(2)), [1, 1.5, 2.5, 3.5]);
    expectNumbers(outputOf(4, allOf(causal(), slidingWindow({ left: 1 }))), [1, 1.5, 2.5, 3.5]);
  });

  it('I2: of 1 gives the values', () => {
    expectNumbers(outputOf(4, causalWindow(1)), values);
  });

  it('I3: at least as wide as the sequence is causal', () => {
    for (const width of [4, 5, 100])
      expectNumbers(outputOf(4, causalWindow(width)), numbersOf(outputOf(4, causal())));
  });

  it('I5: needs no other mask beside it', () => {
    const { query, key, value } = zeroScores(4, values);
    expectNumbers(
      scaledDotProductAttention(query, key, value, { mask: causalWindow(2) }).output,
      [1, 1.5, 2.5, 3.5],
    );
  });

  it('I6: ends at the newest token when decoding', () => {
    expectNumbers(outputOf(1, causalWindow(2)), [3.5]);
  });

  it('I8: may leave nothing to see beside padding', () => {
    const { output, weights } = attend(composed(), zeroScores(4, values), {
      mask: allOf(causalWindow(1), validLengths([2])),
      returns: ['weights'],
    });
    expectNumbers(output, [1, 2, 0, 0]);
    expect(numbersOf(weights!).every(Number.isFinite)).toBe(true);
  });

  it('I9: is the same through every door, for more rows than are computed at once', () => {
    const random = seededRandom(9);
    const [query, key, value] = [0, 1, 2].map(
      () => toTensor(randomTensor([1, 2, 600, 3], random)) as tf.Tensor4D,
    );
    const inputs = { query: query!, key: key!, value: value! };
    const mask = causalWindow(5);
    const long = numbersOf(attend(composed(), inputs, { mask }).output);
    expect(numbersOf(attend(firstSupported([composed()]), inputs, { mask }).output)).toEqual(long);
    // The last row alone sees the same five keys.
    const last = { ...inputs, query: tf.slice(inputs.query, [0, 0, 599, 0], [-1, -1, 1, -1]) };
    expectNumbers(
      attend(composed(), last, { mask }).output,
      [long.slice(599 * 3, 600 * 3), long.slice(-3)].flat(),
    );
  });

  it('reaches to the right where it is asked to', () => {
    expectNumbers(outputOf(4, slidingWindow({ left: 0, right: 1 })), [1.5, 2.5, 3.5, 4]);
  });
});
