// Weights of 8 and 4 bits, against products of the floats that they stand for, in doubles.

import { memoryNow, seededRandom } from '@polyhead/conformance';
import { type BlockFormat, QuantizedWeights, quantizeWeights, tfjsProducts } from '@polyhead/core';
import { project } from '@polyhead/core/layer';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, describe, expect, it } from 'vitest';
import { denseProducts } from './index';

const bytesOf: Readonly<Record<BlockFormat, number>> = { int8: 32, Q8_0: 34, Q4_0: 18, Q4_1: 20 };

/** Any bytes are blocks, but for scales, which are made small. */
function weightsOf(format: BlockFormat, O: number, I: number): QuantizedWeights {
  const random = seededRandom(O + I);
  if (format === 'int8') {
    const floats = Float32Array.from({ length: O * I }, () => (random() - 0.5) * 10 ** (3 * random()));
    return QuantizedWeights.fromFloats(tf.tensor2d(floats, [O, I]), { groupSize: 64 });
  }
  const bytes = Uint8Array.from({ length: O * (I / 32) * bytesOf[format] }, () => Math.floor(random() * 256));
  for (let at = 0; at < bytes.length; at += bytesOf[format]) {
    bytes[at + 1] = (bytes[at + 1]! & 0x80) | 0x20 | (bytes[at + 1]! & 0x0f); // exponents of about 2^-6
    if (format === 'Q4_1') bytes[at + 3] = (bytes[at + 3]! & 0x80) | 0x20 | (bytes[at + 3]! & 0x0f);
  }
  return QuantizedWeights.fromBlocks(format, [O, I], bytes);
}

/** Rows, numbers of a row, outputs; only `int8` fills blocks up. */
const sizes = (isPadded: boolean): [number, number, number][] => [
  [1, 64, 5],
  [1, 576, 67],
  [3, 96, 9],
  [4, 1056, 3],
  [5, 64, 8],
  [7, 576, 33],
  [97, 544, 70],
  ...(isPadded ? [[1, 33, 4] as const, [6, 50, 9] as const, [2, 5, 1] as const] : []).map(
    ([R, I, O]): [number, number, number] => [R, I, O],
  ),
];

afterEach(() => tf.engine().endScope());

describe.each(['int8', 'Q8_0', 'Q4_0', 'Q4_1'] as const)('weights in %s', (format) => {
  it.each(sizes(format === 'int8'))('are multiplied with %d rows of %d numbers, %d outputs', (R, I, O) => {
    tf.engine().startScope();
    const weights = weightsOf(format, O, I);
    const x = tf.randomNormal<tf.Rank.R3>([1, R, I], 0, 1, 'float32', 7);
    const bias = tf.randomNormal<tf.Rank.R1>([O], 0, 1, 'float32', 8);
    const actual = project(x, weights, bias, { products: denseProducts() }).dataSync();
    const [a, w, b] = [x.dataSync(), weights.toFloats().dataSync(), bias.dataSync()];
    for (let n = 0; n < R * O; n++) {
      const [r, o] = [Math.floor(n / O), n % O];
      let [sum, parts] = [b[o]!, Math.abs(b[o]!)];
      let largest = 0;
      for (let i = 0; i < I; i++) {
        sum += a[r * I + i]! * w[o * I + i]!;
        parts += Math.abs(a[r * I + i]! * w[o * I + i]!);
        largest = Math.max(largest, Math.abs(a[r * I + i]!));
      }
      // A few rows are rounded to 16 bits, each number by half a step of its 32.
      let ofRows = 0;
      for (let i = 0; i < I; i++) ofRows += Math.abs(w[o * I + i]!);
      const bound = parts * 2 ** -24 * (8 + 2 * Math.sqrt(I)) + ofRows * largest * 2 ** -16;
      expect(Math.abs(actual[n]! - sum)).toBeLessThanOrEqual(bound);
    }
    weights.dispose();
  });

  it('gives rows the gradient of the floats, and NaN only to rows that hold it', () => {
    tf.engine().startScope();
    const weights = weightsOf(format, 6, 64);
    const x = tf.randomNormal([1, 3, 64], 0, 1, 'float32', 7);
    const of = (products: ReturnType<typeof denseProducts>) =>
      tf
        .grad((y) => tf.sum(tf.square(project(y, weights, undefined, { products }))))(x)
        .dataSync();
    const [actual, expected] = [of(denseProducts()), of(tfjsProducts())];
    const largest = Math.max(...expected.map(Math.abs));
    actual.forEach((y, n) => {
      expect(Math.abs(y - expected[n]!)).toBeLessThan(largest * 1e-3);
    });
    for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const spoiled = tf.concat([tf.fill([1, 1, 64], wrong), tf.slice(x, [0, 1, 0], [1, 2, 64])], 1);
      const numbers = project(spoiled, weights, undefined, { products: denseProducts() }).dataSync();
      expect([...numbers].map(Number.isFinite)).toEqual([...Array(6).fill(false), ...Array(12).fill(true)]);
    }
    weights.dispose();
  });
});

describe('quantizeWeights', () => {
  it('keeps a layer within the steps of its weights, in a quarter of the memory, and leaves nothing', () => {
    tf.engine().startScope();
    const before = memoryNow();
    const layer = new MultiHeadAttention(
      { embedDim: 64, numHeads: 4, seed: 1 },
      { products: denseProducts() },
    );
    const floats = memoryNow().numBytes - before.numBytes;
    const x = tf.randomNormal([1, 5, 64], 0, 1, 'float32', 3);
    const expected = layer.apply({ query: x }).output.dataSync();
    const report = quantizeWeights(layer, 'int8');
    expect(report.matrices).toEqual(['query/kernel', 'key/kernel', 'value/kernel', 'output/kernel']);
    expect(report.bytes).toBe(4 * 64 * (64 + 2 * 4));
    expect(report.bytes).toBeLessThan(0.3 * floats);
    const actual = layer.apply({ query: x }).output.dataSync();
    const scale = Math.max(...expected.map(Math.abs));
    actual.forEach((y, n) => {
      expect(Math.abs(y - expected[n]!)).toBeLessThan(0.02 * scale);
    });
    const { 'query/kernel': query } = layer.getWeights();
    expect(query!.shape).toEqual([64, 64]);
    expect(() => layer.setWeights(layer.getWeights())).toThrow(/must be floats/);
    layer.dispose();
  });

  it('says what must hold', () => {
    tf.engine().startScope();
    expect(() => quantizeWeights({ variables: [] }, 'int4' as never)).toThrow(/format must be 'int8'/);
    expect(() => QuantizedWeights.fromFloats(tf.zeros([2, 2]), { groupSize: 16 })).toThrow(/multiple of 32/);
    expect(() => QuantizedWeights.fromBlocks('Q8_0', [1, 33], new Uint8Array(34))).toThrow(/whole blocks/);
    expect(() => QuantizedWeights.fromBlocks('Q5_0' as never, [1, 32], new Uint8Array(22))).toThrow(/Q8_0/);
  });
});
