// Random combinations of sizes, options, tables and tiles: results against the oracle, and all gradients at once, by the
// derivative of the oracle along one direction.
import {
  attentionCase,
  attentionOracle,
  type CaseRow,
  expectClose,
  expectSlopes,
  type HostTensor,
  type Numbers,
  type OracleInputs,
  randomTensor,
  seededRandom,
  slopeOf,
  toHost,
  toTensor,
  weightedSum,
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
const often = process.env.POLYHEAD_BACKEND === 'tensorflow' ? 50 : 300;
const usually = process.env.POLYHEAD_LONG ? 10_000 : often;
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
  const testCase = attentionCase(row);
  const index = pick(indices);
  const tables = randomTables(sizes, index.R, pick);
  const arrays = { ...testCase.arrays, ...tables };
  const places = Int32Array.from({ length: sizes.Sq }, () => Math.floor(random() * 9) - 2);
  const starts = Array.from({ length: sizes.B }, () => Math.floor(random() * 4));
  const positions: Positions = { query: { each: places }, key: { start: starts } };
  return {
    name: `${seed}: ${testCase.name}; tables ${Object.keys(tables)}`,
    arrays,
    oracle: {
      ...testCase.oracle,
      relative: oracleTables(tables, index),
      positions: { query: (_b, i) => places[i]!, key: (b, j) => starts[b]! + j },
    },
    options: (tensors) => ({ ...testCase.options(), ...tensorOptions(tensors, index), positions }),
    kernel: fusedKernel({ rowsPerTile: pick([1, 4, 32]), keysPerTile: pick([1, 4, 64]) }),
  };
}

type Pick = <T>(values: readonly T[]) => T;

/** Each table in every third case. */
function randomTables({ B, Hq, Sq, D, Dv }: OracleInputs['sizes'], R: number, pick: Pick): Arrays {
  const random = seededRandom(B + Hq + Sq);
  const sometimes = () => pick([true, false, false]);
  const heads = pick([1, Hq]);
  const keys = sometimes();
  const shapes = {
    ...(sometimes() && { biasTable: [Hq, R] }),
    ...(keys && { keyTable: [heads, R, D] }),
    ...(keys && pick([true, false]) && { ownQuery: [B, Hq, Sq, D] }),
    ...(sometimes() && { queryTable: [pick([1, Hq]), R, D] }),
    ...(sometimes() && { valueTable: [pick([1, Hq]), R, Dv] }),
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

function check({ name, arrays, oracle, options, kernel }: Combination): void {
  const expected = attentionOracle(oracle);
  const { maxAbsScore } = expected;
  const names = Object.keys(arrays);
  const cotangents = {
    output: randomTensor([expected.output.length], seededRandom(8)).data,
    logSumExp: randomTensor([expected.logSumExp.length], seededRandom(9)).data,
  };
  const resultsOf = (by: AttentionKernel, inputs: readonly tf.Tensor[]) => {
    const tensors = Object.fromEntries(names.map((argument, n) => [argument, inputs[n]!]));
    const { query, key, value } = tensors as { [name: string]: tf.Tensor4D };
    const call = { query: query!, key: key!, value: value! };
    const { kernel: _, state: __, ...results } = attend(by, call, options(tensors));
    return results as { readonly [result: string]: tf.Tensor };
  };
  const tensors = names.map((argument) => toTensor(arrays[argument]!));
  const numbersOf = (by: AttentionKernel): Numbers =>
    Object.fromEntries(Object.entries(resultsOf(by, tensors)).map(([result, x]) => [result, toHost(x)]));
  const actual = numbersOf(kernel);
  const returned = Object.keys(actual) as ('output' | 'logSumExp')[];

  const slope = slopeOf(() => {
    const results = attentionOracle(oracle);
    return returned.reduce((sum, result) => sum + weightedSum(results[result], cotangents[result]), 0);
  }, arrays);
  const gradientsOf = (by: AttentionKernel): Numbers => {
    const loss = (...inputs: tf.Tensor[]) => {
      const results = resultsOf(by, inputs);
      const terms = returned.map((result) =>
        tf.sum(tf.mul(tf.reshape(results[result]!, [-1]), Array.from(cotangents[result]))),
      );
      return terms.reduce((sum, term) => tf.add(sum, term)) as tf.Scalar;
    };
    return Object.fromEntries(
      tf
        .grads(loss)([...tensors])
        .map((x, n) => [names[n]!, toHost(x)]),
    );
  };
  try {
    expectClose({
      actual,
      expected: Object.fromEntries(returned.map((result) => [result, expected[result]])),
      baseline: numbersOf(composed()),
      maxAbsScore,
    });
    expectSlopes({
      gradients: gradientsOf(kernel),
      slopes: { 'all arguments': slope },
      baseline: gradientsOf(composed()),
      maxAbsScore,
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
