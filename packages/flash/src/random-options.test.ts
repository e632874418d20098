// Random combinations of sizes, options, tables and tiles: results against the oracle, and all gradients at once, by the
// derivative of the oracle in one direction.
import {
  attentionCase,
  attentionOracle,
  type CaseRow,
  expectClose,
  type HostTensor,
  type OracleInputs,
  randomTensor,
  seededRandom,
  toHost,
  toTensor,
} from '@polyhead/conformance';
import {
  type AttendOptions,
  type AttentionKernel,
  attend,
  composed,
  type DistanceIndex,
  type Positions,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';

// On tensorflow the kernel is that of cpu, over copies.
const usually = process.env.POLYHEAD_BACKEND === 'tensorflow' ? 400 : 2_000;
const combinations = Number(process.env.POLYHEAD_COMBINATIONS ?? usually);
const perTest = 50;

const masks = [
  ...['none', 'causal', 'window', 'causal window', 'lengths', 'lengths per row', 'causal lengths'],
  ...['left padding', 'dense [Sq, Skv]', 'dense [B, 1, 1, Skv]', 'dense [B, Hq, Sq, Skv]', 'predicate'],
  ...['causal dense [1, Hq, Sq, Skv]', 'any of'],
] as NonNullable<CaseRow['mask']>[];
const biases = [
  ...['none', 'none', '[1, 1, 1, Skv]', '[B, 1, Sq, 1]', '[1, Hq, Sq, Skv]', '[B, Hq, Sq, Skv]'],
  ...['[B, 1, 1, Skv] hiding keys', '[B, Hq, Sq, Skv] hiding pairs and a row'],
] as NonNullable<CaseRow['bias']>[];
const headSizes = [1, 3, 4, 8, 17];
const lengths = [1, 2, 3, 5, 7, 17];
// Far distances share a row, or each distance that can occur has one.
const indices: readonly (DistanceIndex & { readonly R: number })[] = [
  { R: 5, from: -3, rows: Int32Array.of(0, 1, 1, 2, 4, 3, 3) },
  { R: 28, from: -6 },
];

type Arrays = { readonly [name: string]: HostTensor };

interface Combination {
  readonly name: string;
  readonly arrays: Arrays;
  readonly oracle: OracleInputs;
  readonly options: (tensors: { readonly [name: string]: tf.Tensor }) => AttendOptions;
  readonly kernel: AttentionKernel;
}

function combination(seed: number): Combination {
  const random = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const [Hkv, G] = [pick([1, 2, 3]), pick([1, 2, 3])];
  const sizes = {
    ...{ B: pick([1, 2, 3]), Hq: Hkv * G, Hkv, Sq: pick(lengths), Skv: pick(lengths) },
    ...{ D: pick(headSizes), Dv: pick(headSizes) },
  };
  const row: CaseRow = {
    sizes,
    mask: pick(masks),
    bias: pick(biases),
    softcap: pick([0, 1.5]),
    sinkLogits: pick([true, false]),
    scale: pick([undefined, 0.3, 0]),
    dropout: pick([0, 0.4]),
    queryStart: pick([undefined, 0, 'ragged'] as const),
    returns: pick([[], ['logSumExp']] as const),
  };
  const found = attentionCase(row);
  const index = pick(indices);
  const tables = randomTables(sizes, index.R, pick);
  const arrays = { ...found.arrays, ...tables };
  const places = Int32Array.from({ length: sizes.Sq }, () => Math.floor(random() * 9) - 2);
  const starts = Array.from({ length: sizes.B }, () => Math.floor(random() * 4));
  const positions: Positions = { query: { each: places }, key: { start: starts } };
  return {
    name: `${seed}: ${found.name}; tables ${Object.keys(tables)}`,
    arrays,
    oracle: {
      ...found.oracle,
      relative: oracleTables(tables, index),
      positions: { query: (_b, i) => places[i]!, key: (b, j) => starts[b]! + j },
    },
    options: (tensors) => ({ ...found.options(), ...tensorOptions(tensors, index), positions }),
    kernel: fusedKernel({ rowsPerTile: pick([1, 4, 32]), keysPerTile: pick([1, 4, 64]) }),
  };
}

type Pick = <T>(values: readonly T[]) => T;

/** Each table in every third case. */
function randomTables({ B, Hq, Sq, D, Dv }: OracleInputs['sizes'], R: number, pick: Pick): Arrays {
  const random = seededRandom(B + Hq + Sq);
  const asked = () => pick([true, false, false]);
  const heads = pick([1, Hq]);
  const keys = asked();
  const shapes = {
    ...(asked() && { biasTable: [Hq, R] }),
    ...(keys && { keyTable: [heads, R, D] }),
    ...(keys && pick([true, false]) && { ownQuery: [B, Hq, Sq, D] }),
    ...(asked() && { queryTable: [pick([1, Hq]), R, D] }),
    ...(asked() && { valueTable: [pick([1, Hq]), R, Dv] }),
  };
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [name, randomTensor(shape, random)]),
  );
}

function oracleTables(
  { biasTable, keyTable, ownQuery, queryTable, valueTable }: Arrays,
  index: DistanceIndex,
) {
  return {
    ...(biasTable && { bias: { ...biasTable, index } }),
    ...(keyTable && { keys: { ...keyTable, index, ...(ownQuery && { query: ownQuery.data }) } }),
    ...(queryTable && { queries: { ...queryTable, index } }),
    ...(valueTable && { values: { ...valueTable, index } }),
  };
}

function tensorOptions(
  tensors: { readonly [name: string]: tf.Tensor },
  { from, rows }: DistanceIndex,
): AttendOptions {
  const { bias, sinkLogits, biasTable, keyTable, ownQuery, queryTable, valueTable } = tensors;
  const index = { from, ...(rows && { rows }) };
  return {
    ...(bias && { bias: bias as tf.Tensor4D }),
    ...(sinkLogits && { sinkLogits: sinkLogits as tf.Tensor1D }),
    relative: {
      ...(biasTable && { bias: { table: biasTable as tf.Tensor2D, index } }),
      ...(keyTable && {
        keys: { table: keyTable as tf.Tensor3D, index, ...(ownQuery && { query: ownQuery as tf.Tensor4D }) },
      }),
      ...(queryTable && { queries: { table: queryTable as tf.Tensor3D, index } }),
      ...(valueTable && { values: { table: valueTable as tf.Tensor3D, index } }),
    },
  };
}

const hidden = Number.NEGATIVE_INFINITY;

/** A small step of every number that is finite. */
function direction(arrays: Arrays): Arrays {
  const random = seededRandom(5);
  return Object.fromEntries(
    Object.entries(arrays).map(([name, { shape, data }]) => {
      const step = randomTensor(shape, random).data.map((x, n) => (data[n] === hidden ? 0 : x / 16));
      return [name, { shape, data: step }];
    }),
  );
}

function check({ name, arrays, oracle, options, kernel }: Combination): void {
  const expected = attentionOracle(oracle);
  const names = Object.keys(arrays);
  const cotangents = {
    output: randomTensor([expected.output.length], seededRandom(8)).data,
    logSumExp: randomTensor([expected.logSumExp.length], seededRandom(9)).data,
  };
  const attendBy = (by: AttentionKernel, given: readonly tf.Tensor[]) => {
    const tensors = Object.fromEntries(names.map((argument, n) => [argument, given[n]!]));
    const { query, key, value } = tensors as { [name: string]: tf.Tensor4D };
    const { kernel: _, ...results } = attend(
      by,
      { query: query!, key: key!, value: value! },
      options(tensors),
    );
    return results;
  };
  const given = names.map((argument) => toTensor(arrays[argument]!));
  const resultsOf = (by: AttentionKernel) =>
    Object.fromEntries(
      Object.entries(attendBy(by, given)).map(([result, x]) => [result, toHost(x as tf.Tensor)]),
    );
  const asked = Object.keys(resultsOf(kernel)) as ('output' | 'logSumExp')[];

  // The steps lie where the oracle reads: they are taken, looked from, and taken back.
  const steps = direction(arrays);
  const lossAt = (size: number) => {
    const originals = names.map((argument) => arrays[argument]!.data.slice());
    for (const argument of names) {
      const { data } = arrays[argument]!;
      steps[argument]!.data.forEach((step, n) => {
        data[n]! += size * step;
      });
    }
    const found = attentionOracle(oracle);
    names.forEach((argument, n) => {
      arrays[argument]!.data.set(originals[n]!);
    });
    const terms = asked.map((result) =>
      found[result].reduce((sum, x, n) => (x === hidden ? sum : sum + x * cotangents[result][n]!), 0),
    );
    return terms.reduce((sum, term) => sum + term, 0);
  };
  const h = 1e-3;
  const slope = (lossAt(h) - lossAt(-h)) / (2 * h);
  const slopeOf = (by: AttentionKernel) => {
    const loss = (...tensors: tf.Tensor[]) => {
      const results = attendBy(by, tensors);
      const terms = asked.map((result) =>
        tf.sum(tf.mul(tf.reshape(results[result]!, [-1]), Array.from(cotangents[result]))),
      );
      return terms.reduce((sum, term) => tf.add(sum, term)) as tf.Scalar;
    };
    const gradients = tf.grads(loss)([...given]);
    const terms = gradients.flatMap((gradient, n) =>
      [...toHost(gradient)].map((x, m) => x * steps[names[n]!]!.data[m]!),
    );
    return {
      slope: terms.reduce((sum, x) => sum + x, 0),
      terms: terms.reduce((sum, x) => sum + Math.abs(x), 0),
    };
  };
  const found = slopeOf(kernel);
  const { maxAbsScore } = expected;
  try {
    expectClose({
      actual: resultsOf(kernel),
      expected: Object.fromEntries(asked.map((result) => [result, expected[result]])),
      baseline: () => resultsOf(composed()),
      maxAbsScore,
    });
    // Rounding is a part of the terms, not of what is left when they cancel.
    expectClose({
      actual: { slope: Float64Array.of(found.slope, found.terms) },
      expected: { slope: Float64Array.of(slope, found.terms) },
      baseline: () => ({ slope: Float64Array.of(slopeOf(composed()).slope, found.terms) }),
      maxAbsScore,
      isGradient: true,
    });
  } catch (error) {
    throw new Error(`combination ${name}`, { cause: error });
  }
}

describe('random combinations of options', () => {
  for (let first = 0; first < combinations; first += perTest) {
    it(`${first} to ${first + perTest - 1} give the oracle's results and gradients`, {
      timeout: 120_000,
    }, () => {
      for (let n = first; n < first + perTest; n++) tf.tidy(() => check(combination(n + 1)));
    });
  }
});
