// Tables of five published methods, built by hand, against what each paper's formula says of one pair. Positions live in
// the tables only: the kernel knows none of the methods.
import { type AttendOptions, attend, composed, type RelativeTables } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectClose } from './expect-close';
import { randomArray, seededRandom } from './inputs';
import { toHost, toTensor } from './kernel-run';

const [H, S, D] = [3, 6, 4];
const random = seededRandom(5);
const numbers = (size: number) => Float64Array.from(randomArray(size, random));
const [query, key, value] = [1, 2, 3].map(() => numbers(H * S * D)) as [
  Float64Array,
  Float64Array,
  Float64Array,
];
const row = (x: Float64Array, n: number) => x.subarray(n * D, (n + 1) * D);
const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, x, d) => sum + x * b[d]!, 0);
const clip = (x: number, k: number) => Math.max(-k, Math.min(k, x));
const scale = 1 / Math.sqrt(D);

type Score = (h: number, i: number, j: number) => number;
type TableValue = (h: number, i: number, j: number) => Float64Array;

const none = new Float64Array(D);
const content: Score = (h, i, j) => scale * dot(row(query, h * S + i), row(key, h * S + j));

/** softmax of the scores, mixing values and what the method adds to them. */
function expected(score: Score, tableValue: TableValue = () => none): Float64Array {
  const output = new Float64Array(H * S * D);
  for (let h = 0; h < H; h++) {
    for (let i = 0; i < S; i++) {
      const scores = Array.from({ length: S }, (_, j) => Math.exp(score(h, i, j)));
      const sum = scores.reduce((total, s) => total + s, 0);
      scores.forEach((s, j) => {
        for (let d = 0; d < D; d++) {
          output[(h * S + i) * D + d]! += (s / sum) * (row(value, h * S + j)[d]! + tableValue(h, i, j)[d]!);
        }
      });
    }
  }
  return output;
}

function check(relative: RelativeTables, answer: Float64Array, options: AttendOptions = {}): void {
  const heads = (data: Float64Array) => toTensor({ shape: [1, H, S, D], data }) as tf.Tensor4D;
  const inputs = { query: heads(query), key: heads(key), value: heads(value) };
  const { output } = attend(composed(), inputs, { ...options, relative });
  expectClose({ actual: { output: toHost(output) }, expected: { output: answer } });
}

const table = (data: Float64Array, ...shape: number[]) => toTensor({ shape, data }) as tf.Tensor3D;
const near = (k: number) => ({ from: -k, rows: Int32Array.from({ length: 2 * k + 1 }, (_, n) => n) });

describe('composed looks up the tables of', () => {
  it('Shaw et al. 2018 (1803.02155): clipped distances, keys and values', () => {
    const k = 2;
    const [ofKeys, ofValues] = [numbers((2 * k + 1) * D), numbers((2 * k + 1) * D)];
    const at = (x: Float64Array, i: number, j: number) => row(x, clip(j - i, k) + k);
    check(
      {
        keys: { table: table(ofKeys, 1, 2 * k + 1, D), index: near(k) },
        values: { table: table(ofValues, 1, 2 * k + 1, D), index: near(k) },
      },
      expected(
        (h, i, j) =>
          scale *
          (dot(row(query, h * S + i), row(key, h * S + j)) + dot(row(query, h * S + i), at(ofKeys, i, j))),
        (_h, i, j) => at(ofValues, i, j),
      ),
    );
  });

  it('Raffel et al. 2020 (1910.10683): a bias for each head and bucket, scores not scaled', () => {
    const buckets = 4; // distance 0, 1, 2 or 3, 4 and more, whichever side
    const bucket = (d: number) => [0, 1, 2, 2, 3, 3][Math.abs(d)]!;
    const bias = numbers(H * buckets);
    const rows = Int32Array.from({ length: 2 * S - 1 }, (_, n) => bucket(n - (S - 1)));
    check(
      {
        bias: {
          table: toTensor({ shape: [H, buckets], data: bias }) as tf.Tensor2D,
          index: { from: 1 - S, rows },
        },
      },
      expected((h, i, j) => content(h, i, j) / scale + bias[h * buckets + bucket(j - i)]!),
      { scale: 1 },
    );
  });

  it('Dai et al. 2019 (1901.02860): a query of its own for positions', () => {
    const R = 2 * S - 1;
    const [vectors, v] = [numbers(H * R * D), numbers(H * D)];
    const own = query.map((x, n) => x + v[Math.floor(n / (S * D)) * D + (n % D)]!);
    check(
      {
        keys: {
          table: table(vectors, H, R, D),
          index: { from: 1 - S },
          query: toTensor({ shape: [1, H, S, D], data: own }) as tf.Tensor4D,
        },
      },
      expected(
        (h, i, j) =>
          content(h, i, j) + scale * dot(row(own, h * S + i), row(vectors, h * R + (j - i) + S - 1)),
      ),
    );
  });

  it('He et al. 2021 (2006.03654): content to position, and position to content', () => {
    const k = 3;
    const R = 2 * k + 1;
    const [ofKeys, ofQueries] = [numbers(H * R * D), numbers(H * R * D)];
    const third = 1 / Math.sqrt(3 * D);
    check(
      {
        keys: { table: table(ofKeys, H, R, D), index: near(k) },
        queries: { table: table(ofQueries, H, R, D), index: near(k) },
      },
      expected((h, i, j) => {
        const at = h * R + clip(j - i, k) + k;
        const [q, kj] = [row(query, h * S + i), row(key, h * S + j)];
        return third * (dot(q, kj) + dot(q, row(ofKeys, at)) + dot(kj, row(ofQueries, at)));
      }),
      { scale: third },
    );
  });

  it('Liu et al. 2021 (2103.14030): a bias for each offset in a window of 2 x 3 patches', () => {
    const [rows, columns] = [2, 3];
    const stride = 2 * columns - 1;
    const [y, x] = [(n: number) => Math.floor(n / columns), (n: number) => n % columns];
    const places = Int32Array.from({ length: S }, (_, n) => y(n) * stride + x(n));
    const R = (2 * rows - 1) * stride;
    const bias = numbers(H * R);
    const from = -((rows - 1) * stride + columns - 1);
    const offset = (i: number, j: number) => (y(j) - y(i)) * stride + (x(j) - x(i)) - from;
    check(
      { bias: { table: toTensor({ shape: [H, R], data: bias }) as tf.Tensor2D, index: { from } } },
      expected((h, i, j) => content(h, i, j) + bias[h * R + offset(i, j)]!),
      { positions: { query: { each: places }, key: { each: places } } },
    );
  });
});
