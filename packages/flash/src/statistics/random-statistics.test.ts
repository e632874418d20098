// Statistics of weights that are never held, against the same of the oracle's whole matrix, for options drawn by a seed.
import {
  attentionCase,
  attentionOracle,
  type CaseRow,
  expectClose,
  type HostTensor,
  type Numbers,
  type OracleInputs,
  randomTensor,
  seededRandom,
  toHost,
  toTensor,
  toTensors,
} from '@polyhead/conformance';
import { type AttendOptions, attend, type Positions, type RelativeTables } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  attentionStatistics,
  exactWeights,
  flash,
  type PoolOptions,
  pooledWeights,
  rowEntropy,
  sinkMass,
  topKeys,
} from '../index';

const masks = [
  ...['none', 'causal', 'window', 'lengths', 'lengths per row', 'causal lengths', 'left padding'],
  ...['dense [Sq, Skv]', 'dense [B, Hq, Sq, Skv]', 'causal dense [1, Hq, Sq, Skv]', 'predicate', 'any of'],
] as NonNullable<CaseRow['mask']>[];
const biases = [
  ...['none', 'none', '[1, 1, 1, Skv]', '[B, 1, Sq, 1]', '[B, Hq, Sq, Skv]'],
  ...['[B, 1, 1, Skv] hiding keys', '[B, Hq, Sq, Skv] hiding pairs and a row'],
] as NonNullable<CaseRow['bias']>[];
// Far distances share a row, or each distance that can occur has one.
const indices = [
  { R: 5, index: { from: -3, rows: Int32Array.of(0, 1, 1, 2, 4, 3, 3) } },
  { R: 220, index: { from: -70 } },
];

type Pick = <T>(values: readonly T[]) => T;
type Tables = { readonly [name in 'bias' | 'keys' | 'ownQuery' | 'queries' | 'values']?: HostTensor };

function drawn(seed: number) {
  const random = seededRandom(seed);
  const pick: Pick = (values) => values[Math.floor(random() * values.length)]!;
  const [Hkv, G] = [pick([1, 2]), pick([1, 3])];
  const sizes = {
    ...{ B: pick([1, 2]), Hq: Hkv * G, Hkv, Sq: pick([1, 3, 17, 70]), Skv: pick([1, 5, 19, 140]) },
    ...{ D: pick([3, 8]), Dv: 2 },
  };
  const testCase = attentionCase({
    ...{ sizes, mask: pick(masks), bias: pick(biases), softcap: pick([0, 1.5]) },
    ...{ sinkLogits: pick([true, false]), scale: pick([undefined, 0.3, 4]), dropout: pick([0, 0.4]) },
    queryStart: pick([undefined, 0, 'ragged'] as const),
  });
  const { R, index } = pick(indices);
  return { testCase, sizes, index, tables: drawTables(sizes, R, pick), keyStart: pick([0, 1, 4]) };
}

function drawTables({ B, Hq, Sq, D, Dv }: OracleInputs['sizes'], R: number, pick: Pick): Tables {
  const random = seededRandom(B + Hq + Sq);
  const drawn = (shape: readonly number[]) => pick([randomTensor(shape, random), undefined]);
  const keys = drawn([pick([1, Hq]), R, D]);
  return {
    bias: drawn([Hq, R]),
    keys,
    ownQuery: keys && drawn([B, Hq, Sq, D]),
    queries: drawn([pick([1, Hq]), R, D]),
    values: drawn([1, R, Dv]),
  } as Tables;
}

type Drawn = ReturnType<typeof drawn>;

/** The first query's position is 0. */
function oracleOf({ testCase, index, tables, keyStart }: Drawn) {
  const { bias, keys, ownQuery, queries, values } = tables;
  const relative = {
    ...(bias && { bias: { ...bias, index } }),
    ...(keys && { keys: { ...keys, index, ...(ownQuery && { query: ownQuery.data }) } }),
    ...(queries && { queries: { ...queries, index } }),
    ...(values && { values: { ...values, index } }),
  };
  const positions = { query: (_b: number, i: number) => i, key: (_b: number, j: number) => keyStart + j };
  return attentionOracle({ ...testCase.oracle, relative, positions });
}

function callOf({ testCase, index, tables, keyStart }: Drawn) {
  const { query, key, value, bias, sinkLogits } = toTensors(testCase.arrays);
  const { returns: _, ...caseOptions } = testCase.options();
  const { ownQuery, ...others } = tables;
  const relative = Object.fromEntries(
    Object.entries(others).flatMap(([name, table]) => {
      const own = name === 'keys' && ownQuery && { query: toTensor(ownQuery) };
      return table ? [[name, { table: toTensor(table), index, ...own }]] : [];
    }),
  ) as RelativeTables;
  const positions: Positions = { query: { start: [0] }, key: { start: [keyStart] } };
  const options = {
    ...caseOptions,
    relative,
    positions,
    ...(bias && { bias }),
    ...(sinkLogits && { sinkLogits }),
  };
  return { inputs: { query, key, value }, options } as {
    readonly inputs: { readonly [name in 'query' | 'key' | 'value']: tf.Tensor4D };
    readonly options: Omit<AttendOptions, 'returns'>;
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, x) => total + x, 0);

/** exp(entropy) of one row, in effect the number of its keys: it is never 0, so that its rounding has a size. */
function spreadOf(weights: readonly number[]): number {
  const shares = weights.map((weight) => weight / sum(weights)).filter((share) => share > 0);
  return Math.exp(-sum(shares.map((share) => share * Math.log(share))));
}

/** Of one head: [Sq][Skv]. */
function poolOf(rows: readonly number[][], { pool, ...size }: Required<PoolOptions>): number[] {
  const values: number[] = [];
  for (let top = 0; top < rows.length; top += size.rows) {
    const block = rows.slice(top, top + size.rows);
    for (let left = 0; left < rows[0]!.length; left += size.columns) {
      const all = block.flatMap((row) => row.slice(left, left + size.columns));
      const mean = sum(all) / all.length;
      values.push({ mean, mass: sum(all) / block.length, max: Math.max(...all) }[pool]);
    }
  }
  return values;
}

const k = 3;
const pools = {
  mass: { rows: 1, columns: 7, pool: 'mass' },
  mean: { rows: 6, columns: 5, pool: 'mean' },
  max: { rows: 11, columns: 64, pool: 'max' },
} as const;

/** All statistics, from the weights of the oracle. */
function expectedOf({ testCase, sizes }: Drawn, oracle: ReturnType<typeof oracleOf>): Numbers {
  const { Hq, Sq, Skv } = sizes;
  const chunks = <T>(all: readonly T[], size: number) =>
    Array.from({ length: all.length / size }, (_, n) => all.slice(n * size, (n + 1) * size));
  const rows = chunks([...oracle.weights], Skv);
  const heads = chunks(rows, Sq);
  const largest = (row: readonly number[]) => [...row, 0, 0, 0].sort((a, b) => b - a).slice(0, k);
  const sinkOf = (n: number) => testCase.oracle.sinkLogits?.[Math.floor(n / Sq) % Hq] ?? -Infinity;
  const pooled = Object.entries(pools).map(([name, sizes]) => [
    name,
    Float64Array.from(heads.flatMap((head) => poolOf(head, sizes))),
  ]);
  return {
    spread: Float64Array.from(rows, spreadOf),
    sink: oracle.logSumExp.map((all, n) => (sinkOf(n) === -Infinity ? 0 : Math.exp(sinkOf(n) - all))),
    top: Float64Array.from(rows.flatMap(largest)),
    exact: oracle.weights,
    ...Object.fromEntries(pooled),
  };
}

describe('statistics of drawn options', () => {
  it.each(Array.from({ length: 60 }, (_, n) => n + 1))('are those of the whole matrix: %i', (seed) => {
    const one = drawn(seed);
    const oracle = oracleOf(one);
    const { inputs, options } = callOf(one);
    const statistics = {
      ...{ entropy: rowEntropy(), sink: sinkMass(), top: topKeys(k), exact: exactWeights() },
      ...{ mass: pooledWeights(pools.mass), mean: pooledWeights(pools.mean), max: pooledWeights(pools.max) },
    };
    const { logSumExp } = attend(flash(), inputs, { ...options, returns: ['logSumExp'] });
    for (const look of [{}, { logSumExp: logSumExp! }]) {
      const { top, entropy, ...others } = attentionStatistics(inputs, options, statistics, look);
      const numbers = Object.entries(others).map(([name, tensor]) => [name, toHost(tensor)]);
      const [spread, largest] = [toHost(entropy).map(Math.exp), toHost(top.weights)];
      const actual = { ...Object.fromEntries(numbers), spread, top: largest };
      expectClose({ actual, expected: expectedOf(one, oracle), maxAbsScore: oracle.maxAbsScore });
      checkIndices(toHost(top.indices), largest, { weights: oracle.weights, keys: one.sizes.Skv });
    }
  });
});

/** Each is the key of its weight, and none stands twice in a row. */
function checkIndices(
  indices: Float64Array,
  largest: Float64Array,
  { weights, keys }: { readonly weights: Float64Array; readonly keys: number },
): void {
  largest.forEach((weight, n) => {
    const key = indices[n]!;
    expect(key < 0 ? 0 : weights[Math.floor(n / k) * keys + key]).toBeCloseTo(weight, 4);
    if (key >= 0) expect([...indices.subarray(n - (n % k), n)]).not.toContain(key);
  });
}
