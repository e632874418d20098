// Options and inputs at the ends of what float32 and 32 bits hold. What is right, loops over doubles say.
import {
  attentionOracle,
  expectClose,
  expectNumbers,
  type OracleInputs,
  toHost,
} from '@polyhead/conformance';
import { type AttendOptions, type AttentionKernel, attend, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { flashCpu } from './cpu';
import { fusedKernel, isWasm } from './fixtures/fused-kernel';
import { flash } from './index';
import { flashWasm } from './wasm';

type Heads = readonly (readonly number[])[];

/** [1, 1, S, D] */
const heads = (rows: Heads): tf.Tensor4D => tf.tensor4d(rows.flat(), [1, 1, rows.length, rows[0]!.length]);

interface Inputs {
  readonly query: Heads;
  readonly key: Heads;
  readonly value: Heads;
}

const small: Inputs = {
  query: [
    [0.9, -0.4],
    [0.2, 0.7],
    [-0.6, 0.1],
  ],
  key: [
    [0.5, 0.3],
    [-0.8, 0.6],
    [0.1, -0.9],
    [0.4, 0.2],
  ],
  value: [[1], [2], [-3], [0.5]],
};

function oracleOf({ query, key, value }: Inputs, options: Partial<OracleInputs>) {
  const [Sq, Skv, D, Dv] = [query.length, key.length, query[0]!.length, value[0]!.length];
  const flat = (rows: Heads) => Float64Array.from(rows.flat());
  return attentionOracle({
    sizes: { B: 1, Hq: 1, Hkv: 1, Sq, Skv, D, Dv },
    query: flat(query),
    key: flat(key),
    value: flat(value),
    ...options,
  });
}

const tensorsOf = ({ query, key, value }: Inputs) => ({
  query: heads(query),
  key: heads(key),
  value: heads(value),
});

function outputOf(kernel: AttentionKernel, inputs: Inputs, options: AttendOptions) {
  return toHost(attend(kernel, tensorsOf(inputs), options).output);
}

/** Of the sum of the outputs times 1, 2, ... */
function gradientsOf(kernel: AttentionKernel, inputs: Inputs, options: AttendOptions) {
  const { query, key, value } = tensorsOf(inputs);
  const loss = (...[q, k, v]: tf.Tensor[]) => {
    const { output } = attend(kernel, { query: q, key: k, value: v } as never, options);
    const factors = tf.reshape(tf.range(1, output.size + 1), output.shape);
    return tf.sum(tf.mul(output, factors)) as tf.Scalar;
  };
  return tf.grads(loss)([query, key, value]).map(toHost);
}

/** The same by central differences of the oracle. */
function oracleGradients(inputs: Inputs, options: Partial<OracleInputs>, step: number) {
  const loss = (moved: Inputs) => oracleOf(moved, options).output.reduce((sum, x, n) => sum + x * (n + 1), 0);
  return (['query', 'key', 'value'] as const).map((name) => {
    const rows = inputs[name];
    return Float64Array.from(
      rows.flatMap((row, i) =>
        row.map((x, d) => {
          const ofStep = name === 'value' ? 1e-4 : step;
          const at = (to: number) =>
            loss({
              ...inputs,
              [name]: rows.map((r, n) => (n === i ? r.map((y, m) => (m === d ? to : y)) : r)),
            });
          return (at(x + ofStep) - at(x - ofStep)) / (2 * ofStep);
        }),
      ),
    );
  });
}

const times = (rows: Heads, factor: number) => rows.map((row) => row.map((x) => x * factor));

describe('softcap', () => {
  it.each([1e-45, 1e-42, 1e-38, 1e-20, 0.01, 30, 1e20, 3e38])('of %d', (softcap) => {
    const { output, maxAbsScore } = oracleOf(small, { softcap });
    const actual = { output: outputOf(fusedKernel(), small, { softcap }) };
    expectClose({ actual, expected: { output }, maxAbsScore });
    const expected = oracleGradients(small, { softcap }, 1e-5);
    gradientsOf(fusedKernel(), small, { softcap }).forEach((gradient, n) => {
      expectClose({ actual: { gradient }, expected: { gradient: expected[n]! }, isGradient: true });
    });
  });
});

describe('scale', () => {
  it.each([1e-50, 1e-45, 1e-38, -1, 0, 1e3])('of %d', (scale) => {
    const { output, maxAbsScore } = oracleOf(small, { scale });
    const actual = { output: outputOf(fusedKernel(), small, { scale }) };
    expectClose({ actual, expected: { output }, maxAbsScore });
  });

  it('of 3e38 chooses one key for each query, and its gradient is 0', () => {
    const options = { scale: 3e38 };
    expectNumbers(attend(fusedKernel(), tensorsOf(small), options).output, [-3, 1, 2]);
    const [query, key, value] = gradientsOf(fusedKernel(), small, options);
    expect([...query!, ...key!].every((x) => x === 0)).toBe(true);
    expect([...value!]).toEqual([2, 3, 1, 0]);
  });

  it.each([1e30, 3e38])('of %d, where queries and keys are small', (scale) => {
    const factor = 1 / Math.sqrt(scale);
    const inputs = { ...small, query: times(small.query, factor), key: times(small.key, factor) };
    const large = { ...inputs, value: times(small.value, 3) };
    const { output, maxAbsScore } = oracleOf(large, { scale });
    expectClose({
      actual: { output: outputOf(fusedKernel(), large, { scale }) },
      expected: { output },
      maxAbsScore,
    });
    const expected = oracleGradients(large, { scale }, factor * 1e-5);
    gradientsOf(fusedKernel(), large, { scale }).forEach((gradient, n) => {
      const scaled = (x: Float64Array) => x.map((y) => (n === 2 ? y : y * factor));
      expectClose({
        actual: { gradient: scaled(gradient) },
        expected: { gradient: scaled(expected[n]!) },
        isGradient: true,
      });
    });
  });

  it('of 1e-50 is 0 in every kernel, whatever it is multiplied with', () => {
    const inputs = { query: [[1e30]], key: [[1e30], [-1e30]], value: [[1], [2]] };
    for (const kernel of [fusedKernel(), composed()]) {
      expectNumbers(attend(kernel, tensorsOf(inputs), { scale: 1e-50 }).output, [1.5]);
    }
  });
});

describe('values', () => {
  const S = 300;
  const column = (x: (n: number) => number): Heads => Array.from({ length: S }, (_, n) => [x(n)]);

  it.each([
    ['one query', 1],
    ['a few queries', 3],
    ['many queries', 20],
  ])('near the largest float have their mean: %s', (_, Sq) => {
    const query = Array.from({ length: Sq }, (_x, n) => [n / 10]);
    const inputs = { query, key: column((n) => n / S), value: column((n) => (n % 3 === 0 ? -1e38 : 3e38)) };
    const { output, maxAbsScore } = oracleOf(inputs, { scale: 1 });
    const parts = (x: Float64Array) => x.map((y) => y / 1e38);
    const actual = parts(outputOf(fusedKernel(), inputs, { scale: 1 }));
    expectClose({ actual: { output: actual }, expected: { output: parts(output) }, maxAbsScore });
  });

  it('near the largest float with dropout, a sink and a table', () => {
    const inputs = { query: [[1]], key: column((n) => n / S), value: column(() => 1e38) };
    const options: AttendOptions = {
      scale: 1,
      sinkLogits: tf.tensor1d([1]),
      dropout: { rate: 0.5, seed: 3 },
      relative: { values: { table: tf.fill([1, 2, 1], 1e38), index: { from: -1 } } },
    };
    const scaled = outputOf(
      fusedKernel(),
      { ...inputs, value: column(() => 1) },
      {
        ...options,
        relative: { values: { table: tf.fill([1, 2, 1], 1), index: { from: -1 } } },
      },
    );
    const [output] = outputOf(fusedKernel(), inputs, options);
    expect(output! / 1e38).toBeCloseTo(scaled[0]!, 4);
  });

  it.each([Number.NaN, Infinity])('of %d that a query sees reach its output, and no other', (number) => {
    const value = column((n) => (n === 290 ? number : 1));
    const inputs = { query: column(() => 0), key: column(() => 0), value };
    const mask = {
      name: 'own',
      perBatch: false,
      perHead: false,
      spans: ({ index }: { index: number }) => [[0, index + 1]],
    };
    const output = outputOf(fusedKernel(), inputs, { mask: mask as never });
    expect([...output.subarray(0, 290)].every((x) => Math.abs(x - 1) < 1e-6)).toBe(true);
    expect([...output.subarray(290)].some(Number.isFinite)).toBe(false);
  });
});

describe('distances', () => {
  const index = { from: -1, rows: Int32Array.of(0, 1, 2) };
  const positions = {
    query: { each: Int32Array.of(-(2 ** 31) + 1, 0, 2 ** 31 - 1) },
    key: { each: Int32Array.of(2 ** 31 - 1, -(2 ** 31) + 1, 0, 5) },
  };
  const relative = (table: readonly number[]) => ({
    bias: { table: tf.tensor2d([...table], [1, table.length]), index },
  });

  it('may have 33 bits', () => {
    const table = [1, 2, 4];
    const { output, maxAbsScore } = oracleOf(small, {
      relative: { bias: { shape: [1, 3], data: Float64Array.from(table), index } },
      positions: { query: (_, i) => positions.query.each[i]!, key: (_, j) => positions.key.each[j]! },
    });
    const actual = { output: outputOf(fusedKernel(), small, { relative: relative(table), positions }) };
    expectClose({ actual, expected: { output }, maxAbsScore });
  });

  it('of consecutive positions may have 33 bits', () => {
    const ends = { query: { start: [-(2 ** 31) + 1] }, key: { start: [2 ** 31 - 5] } };
    const { output, maxAbsScore } = oracleOf(small, {
      relative: { bias: { shape: [1, 3], data: Float64Array.of(1, 2, 4), index } },
      positions: { query: (_, i) => i - 2 ** 31 + 1, key: (_, j) => j + 2 ** 31 - 5 },
    });
    const options = { relative: relative([1, 2, 4]), positions: ends };
    expectClose({
      actual: { output: outputOf(fusedKernel(), small, options) },
      expected: { output },
      maxAbsScore,
    });
  });
});

describe('options of the kernels', () => {
  const kernels = isWasm ? { flashWasm } : { flashCpu };
  for (const [name, make] of Object.entries(kernels)) {
    it.each([0, -1, 1.5, 4097, 2 ** 25, 2 ** 28, 2 ** 31, 2 ** 32, 1e308, Infinity, Number.NaN, '8'])(
      `${name} refuses tiles of %s`,
      (size) => {
        for (const option of ['rowsPerTile', 'keysPerTile']) {
          expect(() => make({ [option]: size })).toThrow(
            new RegExp(`${name}: ${option} must be a whole number from 1 to 4096`),
          );
        }
      },
    );
  }

  it('have no tiles larger than the call', () => {
    const { output, maxAbsScore } = oracleOf(small, {});
    const actual = { output: outputOf(fusedKernel({ rowsPerTile: 4096, keysPerTile: 4096 }), small, {}) };
    expectClose({ actual, expected: { output }, maxAbsScore });
  });

  it('are known ones', () => {
    for (const options of [5, 'x', [], () => 1]) {
      expect(() => fusedKernel(options as never)).toThrow(/options must be an object/);
      expect(() => flash(options as never)).toThrow(/options must be an object/);
    }
    expect(() => flash({ rowsPerTile: 8 } as never)).toThrow(/rowsPerTile/);
  });
});
