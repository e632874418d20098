import { numbersOf } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { asFloats } from './quantized-rows';

describe('asFloats', () => {
  it('gives the numbers of words, and floats as they are', () => {
    // 4-bit numbers 1 -2 3 and 7 -8 0, signed, a scale for each row.
    const pack = (numbers: number[]) => numbers.reduce((word, n, i) => word | ((n & 15) << (4 * i)), 0);
    const data = tf.tensor2d([pack([1, -2, 3]), pack([7, -8, 0])], [2, 1], 'int32');
    const scale = tf.tensor2d([0.5, 2], [2, 1]);
    const words = { data, first: 0, size: 3, quantized: { bits: 4 as const, scale, rowsPerScale: 1 } };
    const floats = asFloats(words);
    expect(numbersOf(floats.data)).toEqual([0.5, -1, 1.5, 14, -16, 0]);
    expect(asFloats(floats)).toBe(floats);
  });
});
