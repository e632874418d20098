// Keys and values read as they lie: doubles of every storage that the interface describes, free rows full of NaN.
import {
  attentionCase,
  attentionOracle,
  expectClose,
  type OracleInputs,
  randomTensor,
  seededRandom,
  toHost,
  toTensor,
  toTensors,
} from '@polyhead/conformance';
import { attend, causal, type KeyValuePart, type RowMatrix, type StoredKeyValue } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';

const sizes = { B: 2, Hq: 6, Hkv: 3, Sq: 2, Skv: 11, D: 5, Dv: 4 };
const { B, Hkv, Skv, D, Dv } = sizes;
const lengths = [11, 8];

/** Where the row of a token is: [b, head, token] to a row of the matrix; and how a kernel is told. */
interface Layout {
  readonly rows: number;
  rowOf(b: number, head: number, token: number): number;
  readonly headStride: number;
  runs(b: number): readonly (readonly [row: number, count: number])[];
}

const layouts: Readonly<Record<string, Layout>> = {
  contiguous: {
    rows: B * Hkv * 13,
    headStride: 13,
    rowOf: (b, head, token) => (b * Hkv + head) * 13 + token,
    runs: (b) => [[b * Hkv * 13, lengths[b]!]],
  },
  // Token 0 lies at slot 7 of 12.
  ring: {
    rows: B * Hkv * 12,
    headStride: 12,
    rowOf: (b, head, token) => (b * Hkv + head) * 12 + ((7 + token) % 12),
    runs: (b) => [
      [b * Hkv * 12 + 7, 5],
      [b * Hkv * 12, lengths[b]! - 5],
    ],
  },
  // Pages of 3 tokens of all heads, scattered.
  pages: {
    rows: 11 * Hkv * 3,
    headStride: 3,
    rowOf: (b, head, token) => (pageOf(b, Math.floor(token / 3)) * Hkv + head) * 3 + (token % 3),
    runs: (b) =>
      Array.from({ length: Math.ceil(lengths[b]! / 3) }, (_, page) => [
        pageOf(b, page) * Hkv * 3,
        Math.min(3, lengths[b]! - page * 3),
      ]),
  },
};

function pageOf(b: number, page: number): number {
  return (7 * (b * 4 + page) + 3) % 11;
}

type Heads = { readonly key: Float64Array; readonly value: Float64Array };

/** Rows of these numbers in their places, and NaN in all others. */
function scatter({ rows, rowOf }: Layout, numbers: Float64Array, size: number): Float64Array {
  const placed = new Float64Array(rows * size).fill(Number.NaN);
  for (let b = 0; b < B; b++) {
    for (let head = 0; head < Hkv; head++) {
      for (let token = 0; token < lengths[b]!; token++) {
        const at = ((b * Hkv + head) * Skv + token) * size;
        placed.set(numbers.subarray(at, at + size), rowOf(b, head, token) * size);
      }
    }
  }
  return placed;
}

/** How rows become a matrix; `exact` gives the numbers that can be read from it again. */
interface Store {
  matrices(rows: Heads): { readonly key: RowMatrix; readonly value: RowMatrix };
  readonly step: number; // numbers are multiples of it
}

const floats = (rows: Float64Array, size: number): RowMatrix => ({
  data: tf.tensor2d(Float32Array.from(rows), [rows.length / size, size]),
  first: 0,
  size,
});

const stores: Readonly<Record<string, Store>> = {
  floats: {
    step: 1 / 256,
    matrices: ({ key, value }) => ({ key: floats(key, D), value: floats(value, Dv) }),
  },
  'floats, keys and values in one matrix': {
    step: 1 / 256,
    matrices({ key, value }) {
      const data = tf.concat(
        [
          tf.fill([key.length / D, 1], Number.NaN),
          floats(key, D).data,
          floats(value, Dv).data,
        ] as tf.Tensor2D[],
        1,
      );
      return { key: { data, first: 1, size: D }, value: { data, first: 1 + D, size: Dv } };
    },
  },
  '8 bits, a scale for each row': {
    step: 1 / 32,
    matrices: ({ key, value }) => ({
      key: quantized(key, D, { bits: 8, rowsPerScale: 1, columns: 1 }),
      value: quantized(value, Dv, { bits: 8, rowsPerScale: 1, columns: 1 }),
    }),
  },
  '4 bits, with zeros, a scale for 3 rows and each part of a row': {
    step: 1 / 4,
    matrices: ({ key, value }) => ({
      key: quantized(key, D, { bits: 4, rowsPerScale: 3, columns: D, zero: -2 }),
      value: quantized(value, Dv, { bits: 4, rowsPerScale: 3, columns: 2, zero: -2 }),
    }),
  },
};

interface Quantization {
  readonly bits: 4 | 8;
  readonly rowsPerScale: number;
  readonly columns: number;
  readonly zero?: number;
}

/** Numbers that are multiples of a scale, in words. Rows that hold nothing are full of ones, their scales NaN. */
function quantized(rows: Float64Array, size: number, { bits, zero, ...of }: Quantization): RowMatrix {
  const [count, perWord] = [rows.length / size, 32 / bits];
  const words = Math.ceil(size / perWord);
  const packed = new Int32Array(count * (words + 1)).fill(-1);
  const scale = zero === undefined ? 1 / 32 : 1 / 4;
  for (let row = 0; row < count; row++) {
    if (Number.isNaN(rows[row * size]!)) continue;
    packed.fill(0, row * (words + 1) + 1, (row + 1) * (words + 1));
    for (let n = 0; n < size; n++) {
      const stored = Math.round((rows[row * size + n]! - (zero ?? 0)) / scale) & (2 ** bits - 1);
      packed[row * (words + 1) + 1 + Math.floor(n / perWord)]! |= stored << ((n % perWord) * bits);
    }
  }
  const scales = (x: number): tf.Tensor2D => tf.fill([Math.ceil(count / of.rowsPerScale), of.columns], x);
  return {
    data: tf.tensor2d(packed, [count, words + 1], 'int32'),
    first: 1,
    size,
    quantized: {
      bits,
      rowsPerScale: of.rowsPerScale,
      scale: scales(scale),
      ...(zero !== undefined && { zero: scales(zero) }),
    },
  };
}

function storageOf(parts: readonly KeyValuePart[]): StoredKeyValue {
  return {
    heads: Hkv,
    keySize: D,
    valueSize: Dv,
    lengths,
    order: { start: [4, 2] },
    positions: { start: [3, 1] },
    parts,
    materialize: () => {
      throw new Error('rows were copied');
    },
  };
}

/** The first tokens in one piece, the others in another. */
function split(part: KeyValuePart, at: number): readonly KeyValuePart[] {
  const runsOf = (b: number, from: number, to: number) => {
    const some: number[] = [];
    let token = 0;
    const runs = part.runs(b);
    for (let n = 0; n < runs.length; n += 2) {
      const [row, count] = [runs[n]!, runs[n + 1]!];
      const [first, last] = [Math.max(from, token), Math.min(to, token + count)];
      if (first < last) some.push(row + first - token, last - first);
      token += count;
    }
    return Int32Array.from(some);
  };
  return [
    { ...part, runs: (b) => runsOf(b, 0, at) },
    { ...part, runs: (b) => runsOf(b, at, Infinity) },
  ];
}

function check(layout: Layout, store: Store, pieces: 1 | 2): void {
  const testCase = attentionCase({ sizes, sinkLogits: true, dropout: 0.3 });
  const rounded = (x: Float64Array) => x.map((n) => Math.round(n / store.step) * store.step);
  const [key, value] = ['key', 'value'].map((name) => rounded(testCase.arrays[name]!.data)) as [
    Float64Array,
    Float64Array,
  ];
  const clipped = (x: Float64Array) => x.map((n) => Math.min(n, 1.75)); // what 4 bits reach
  const host = { key: clipped(key), value: clipped(value) };
  const table = randomTensor([1, 5, D], seededRandom(2));
  const index = { from: -2, rows: Int32Array.of(0, 1, 2, 3, 4) };
  const order = (b: number) => [4, 2][b]!;
  const row = (b: number, i: number) => lengths[b]! - sizes.Sq + i; // the token that a query stands at
  const oracle: OracleInputs = {
    ...testCase.oracle,
    ...host,
    isVisible: (b, _h, i, j) => j <= row(b, i),
    keep: (b, h, i, j) => testCase.oracle.keep!(b, h, order(b) + row(b, i) - (Skv - sizes.Sq), order(b) + j),
    relative: { keys: { ...table, index } },
    positions: { query: (b, i) => order(b) + row(b, i), key: (b, j) => j + [3, 1][b]! },
  };
  const part: KeyValuePart = {
    ...store.matrices({ key: scatter(layout, host.key, D), value: scatter(layout, host.value, Dv) }),
    headStride: layout.headStride,
    runs: (b) => Int32Array.from(layout.runs(b).flat()),
  };
  const stored = storageOf(pieces === 1 ? [part] : split(part, 6));
  const { query, sinkLogits } = toTensors(testCase.arrays);
  const { mask: _, ...options } = testCase.options();
  const { output } = attend(
    fusedKernel({ rowsPerTile: 6, keysPerTile: 4 }),
    { query: query as tf.Tensor4D, stored },
    {
      ...options,
      mask: causal(),
      sinkLogits: sinkLogits as tf.Tensor1D,
      relative: { keys: { table: toTensor(table) as tf.Tensor3D, index } },
    },
  );
  const { output: expected, maxAbsScore } = attentionOracle(oracle);
  expectClose({ actual: { output: toHost(output) }, expected: { output: expected }, maxAbsScore });
}

describe.each(Object.entries(layouts))('stored rows: %s', (_, layout) => {
  describe.each(Object.entries(stores))('%s', (_, store) => {
    it('are read as they lie, free rows never', () => check(layout, store, 1));
    it('are read from two pieces', () => check(layout, store, 2));
  });
});
