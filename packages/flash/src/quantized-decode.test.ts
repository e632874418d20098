// Decoding from 8- and 4-bit numbers in pages: rows go sixteen numbers at a time, and few query rows read them piece by piece.
import {
  attentionCase,
  attentionOracle,
  expectClose,
  seededRandom,
  toHost,
  toTensors,
} from '@polyhead/conformance';
import { attend, causal, type StoredKeyValue } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';

describe.each([
  ['8 bits', 48, 32, { bits: 8, keyColumns: 1, valueColumns: 1, rowsPerScale: 1 }],
  ['8 bits of other sizes', 44, 37, { bits: 8, keyColumns: 1, valueColumns: 1, rowsPerScale: 1 }],
  ['4 bits in parts', 64, 32, { bits: 4, keyColumns: 2, valueColumns: 1, rowsPerScale: 1 }],
  ['4 bits in parts of other sizes', 36, 37, { bits: 4, keyColumns: 2, valueColumns: 2, rowsPerScale: 1 }],
  ['4 bits by channel', 48, 32, { bits: 4, keyColumns: 48, valueColumns: 32, rowsPerScale: 8 }],
  [
    '4 bits by channel, of another size',
    44,
    36,
    { bits: 4, keyColumns: 44, valueColumns: 36, rowsPerScale: 8 },
  ],
] as const)('decoding from rows of %s', (_, keySize, valueSize, format) => {
  it.each([1, 4, 6])('%i query rows a head see what the numbers stand for', (group) => {
    const random = seededRandom(3);
    const tokens = [67, 40];
    const [heads, stride] = [2, 72];
    const rows = 2 * heads * stride;
    const words = (size: number) => Math.ceil((size * format.bits) / 32);
    const matrix = (size: number, columns: number) => {
      const data = Int32Array.from({ length: rows * words(size) }, () => Math.floor(random() * 2 ** 32) | 0);
      const of = rows / format.rowsPerScale;
      const scale = Float32Array.from({ length: of * columns }, () => (0.1 + random()) / 2 ** format.bits);
      const zero = Float32Array.from({ length: of * columns }, () => random() - 0.5);
      const perWord = 32 / format.bits;
      const number = (row: number, i: number) => {
        const word = data[row * words(size) + Math.floor(i / perWord)]!;
        const bits = (word >>> ((i % perWord) * format.bits)) & (2 ** format.bits - 1);
        const at = Math.floor(row / format.rowsPerScale) * columns + Math.floor((i * columns) / size);
        if (format.bits === 4) return zero[at]! + scale[at]! * bits;
        return scale[at]! * (bits < 128 ? bits : bits - 256);
      };
      const floats = (x: Float32Array) => tf.tensor2d(x, [of, columns]);
      const { bits, rowsPerScale } = format;
      const quantized = {
        bits,
        rowsPerScale,
        scale: floats(scale),
        ...(bits === 4 && { zero: floats(zero) }),
      };
      return {
        number,
        rows: { data: tf.tensor2d(data, [rows, words(size)], 'int32'), first: 0, size, quantized },
      };
    };
    const [key, value] = [matrix(keySize, format.keyColumns), matrix(valueSize, format.valueColumns)];
    const pages = (b: number) => [
      ...[b * heads * stride + 24, 30],
      ...[b * heads * stride, Math.min(24, tokens[b]! - 30)],
      ...(tokens[b]! > 54 ? [b * heads * stride + 54, tokens[b]! - 54] : []),
    ];
    const slots = tokens.map((_, b) => {
      const runs = pages(b);
      return [0, 1, 2].flatMap((n) =>
        Array.from({ length: runs[2 * n + 1] ?? 0 }, (_, i) => runs[2 * n]! + i),
      );
    });
    const gather = ({ number }: typeof key, size: number) =>
      Float64Array.from({ length: 2 * heads * 67 * size }, (_, at) => {
        const [i, s, h, b] = [
          at % size,
          Math.floor(at / size) % 67,
          Math.floor(at / size / 67) % heads,
          Math.floor(at / size / 67 / heads),
        ];
        return s < tokens[b]! ? number(slots[b]![s]! + h * stride, i) : 0;
      });
    const sizes = { B: 2, Hq: heads * group, Hkv: heads, Sq: 1, Skv: 67, D: keySize, Dv: valueSize };
    const testCase = attentionCase({ sizes });
    const oracle = { ...testCase.oracle, key: gather(key, keySize), value: gather(value, valueSize) };
    const { output: expected, maxAbsScore } = attentionOracle({
      ...oracle,
      isVisible: (b, _h, _i, j) => j < tokens[b]!,
    });
    const stored: StoredKeyValue = {
      heads,
      keySize,
      valueSize,
      lengths: tokens,
      order: { start: [0] },
      positions: { start: [0] },
      parts: [
        { key: key.rows, value: value.rows, headStride: stride, runs: (b) => Int32Array.from(pages(b)) },
      ],
      materialize: () => {
        throw new Error('rows were copied');
      },
    };
    const { query } = toTensors(testCase.arrays);
    const { mask: _, ...options } = testCase.options();
    const kernel = fusedKernel({});
    const { output } = attend(
      kernel,
      { query: query as tf.Tensor4D, stored },
      { ...options, mask: causal() },
    );
    expectClose({ actual: { output: toHost(output) }, expected: { output: expected }, maxAbsScore });
  });
});
