import {
  attentionCase,
  expectNumbers,
  expectSameMemory,
  memoryNow,
  numbersOf,
  toTensors,
} from '@polyhead/conformance';
import { attend, causal, composed, dense, slidingWindow, validLengths } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  attentionStatistics,
  exactWeights,
  pooledWeights,
  rowEntropy,
  type Statistic,
  sinkMass,
  topKeys,
} from '../index';

function inputsOf(sizes: { readonly Sq: number; readonly Skv: number }) {
  const { query, key, value, sinkLogits } = toTensors(
    attentionCase({ sizes: { B: 2, Hq: 6, Hkv: 2, D: 4, Dv: 2, ...sizes }, sinkLogits: true }).arrays,
  );
  const inputs = { query, key, value } as { readonly [name in 'query' | 'key' | 'value']: tf.Tensor4D };
  return { inputs, sinkLogits: sinkLogits as tf.Tensor1D };
}

function expectSame(actual: tf.Tensor, expected: tf.Tensor): void {
  expect(actual.shape).toEqual(expected.shape);
  expectNumbers(actual, numbersOf(expected));
}

describe('attentionStatistics', () => {
  it('gives the weights of the default kernel', () => {
    const { inputs, sinkLogits } = inputsOf({ Sq: 70, Skv: 90 });
    const options = { mask: causal(), sinkLogits, softcap: 3 };
    const { weights } = attend(composed(), inputs, { ...options, returns: ['weights'] });
    const { exact } = attentionStatistics(inputs, options, { exact: exactWeights() });
    expectSame(exact, weights!);
  });

  it('looks at some heads and rows only, in the order asked', () => {
    const { inputs, sinkLogits } = inputsOf({ Sq: 70, Skv: 90 });
    const options = { mask: causal(), sinkLogits };
    const statistics = {
      ...{ entropy: rowEntropy(), sink: sinkMass(), top: topKeys(2) },
      map: pooledWeights({ rows: 4, columns: 9 }),
    };
    const all = attentionStatistics(inputs, options, { ...statistics, exact: exactWeights() });
    const part = attentionStatistics(
      inputs,
      options,
      { ...statistics, exact: exactWeights({ columns: [60, 75] }) },
      { heads: [5, 0], rows: [8, 68] },
    );
    const cut = (x: tf.Tensor, from: number, count: number) =>
      tf.concat(
        [5, 0].map((h) => tf.slice(x, [0, h, from], [-1, 1, count])),
        1,
      );
    expectSame(part.entropy, cut(all.entropy, 8, 60));
    expectSame(part.sink, cut(all.sink, 8, 60));
    expectSame(part.top.indices, cut(all.top.indices, 8, 60));
    expectSame(part.map, cut(all.map, 2, 15)); // row 8 begins a block of 4
    expectSame(part.exact, tf.slice(cut(all.exact, 8, 60), [0, 0, 0, 60], [-1, -1, -1, 15]));
  });

  it('begins blocks at the first row looked at', () => {
    const { inputs } = inputsOf({ Sq: 70, Skv: 90 });
    const max = pooledWeights({ rows: 4, columns: 90, pool: 'max' });
    const look = { rows: [3, 12] as const };
    const actual = attentionStatistics(inputs, {}, { max, exact: exactWeights() }, look);
    const block = (from: number, count: number) =>
      tf.max(tf.slice(actual.exact, [0, 0, from, 0], [-1, -1, count, -1]), [2, 3]);
    expectSame(actual.max, tf.expandDims(tf.stack([block(0, 4), block(4, 4), block(8, 1)], 2), 3));
  });

  it('visits the tiles that a statistic asks for, and no others', () => {
    const ones = tf.ones<tf.Rank.R4>([1, 2, 300, 2]);
    const tiles: number[][] = [];
    const watch: Statistic<tf.Scalar> = {
      name: 'watch',
      init: () => ({
        columns: [250, 260],
        update: ({ h, rows, columns }, first) => tiles.push([h, ...rows, ...columns, first]),
        finalize: () => tf.scalar(0),
      }),
    };
    const inputs = { query: ones, key: ones, value: ones };
    const mask = slidingWindow({ left: 7, right: 0 });
    const look = { heads: [1], rows: [255, 270] as const };
    attentionStatistics(inputs, { mask }, { watch, sink: sinkMass() }, look);
    expect(tiles).toEqual([[1, 255, 270, 250, 260, 0]]);
  });

  it('knows the mass of a sink from log-sum-exp alone', () => {
    const [query, key] = [tf.ones<tf.Rank.R4>([1, 3, 2, 2]), tf.fill<tf.Rank.R4>([1, 1, 9, 2], Number.NaN)];
    const logSumExp = tf.fill<tf.Rank.R3>([1, 3, 2], 1);
    const inputs = { query, key, value: key };
    const sinkLogits = tf.tensor1d([1, -Infinity, 0]);
    const { sink } = attentionStatistics(inputs, { sinkLogits }, { sink: sinkMass() }, { logSumExp });
    expectNumbers(sink, [1, 1, 0, 0, Math.exp(-1), Math.exp(-1)]);
    const { none } = attentionStatistics(inputs, {}, { none: sinkMass() }, { logSumExp });
    expectNumbers(none, [0, 0, 0, 0, 0, 0]);
  });

  it('never reads what no query sees', () => {
    const { inputs } = inputsOf({ Sq: 5, Skv: 8 });
    const rest = tf.concat([tf.zeros([1, 1, 8 - 2, 1]), tf.fill([1, 1, 2, 1], Number.NaN)], 2) as tf.Tensor4D;
    const padded = { ...inputs, key: tf.add<tf.Tensor4D>(inputs.key, rest) };
    const options = { mask: validLengths([6, 3]) };
    const statistics = {
      entropy: rowEntropy(),
      exact: exactWeights(),
      map: pooledWeights({ rows: 2, columns: 3 }),
    };
    const [clean, spoiled] = [inputs, padded].map((heads) => attentionStatistics(heads, options, statistics));
    for (const name of ['entropy', 'exact', 'map'] as const) expectSame(spoiled![name], clean![name]);
    expect(numbersOf(spoiled!.exact).some(Number.isNaN)).toBe(false);
  });

  it('knows small rows by heart', () => {
    const query = tf.ones<tf.Rank.R4>([1, 1, 3, 1]);
    const key = tf.tensor4d([0, Math.log(2), 0, Math.log(4)], [1, 1, 4, 1]);
    const options = { mask: causal(), queryStart: -1, scale: 1 }; // rows see nothing, key 0, keys 0 and 1
    const { entropy, top, map } = attentionStatistics({ query, key, value: key }, options, {
      entropy: rowEntropy(),
      top: topKeys(5),
      map: pooledWeights({ rows: 2, columns: 3 }),
    });
    expectNumbers(entropy, [0, 0, Math.log(3) - (2 / 3) * Math.log(2)]);
    expect(numbersOf(top.indices)).toEqual([-1, -1, -1, -1, -1, 0, -1, -1, -1, -1, 1, 0, -1, -1, -1]);
    expectNumbers(top.weights, [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2 / 3, 1 / 3, 0, 0, 0]);
    expectNumbers(map, [0.5, 0, 1, 0]);
  });

  it('names the earlier of equal keys first, and shows what is no number', () => {
    const query = tf.tensor4d([0, Number.NaN], [1, 1, 2, 1]);
    const key = tf.ones<tf.Rank.R4>([1, 1, 130, 1]);
    const max = pooledWeights({ rows: 1, columns: 130, pool: 'max' });
    const statistics = { top: topKeys(3), entropy: rowEntropy(), max };
    const actual = attentionStatistics({ query, key, value: key }, {}, statistics);
    expect(numbersOf(actual.top.indices).slice(0, 3)).toEqual([0, 1, 2]);
    expect(numbersOf(actual.top.weights).slice(3)).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    expectNumbers(actual.entropy, [Math.log(130), Number.NaN]);
    expectNumbers(actual.max, [1 / 130, Number.NaN]);
  });

  it.each([
    ['no batch entry', 0, 2, 3],
    ['no query', 1, 0, 3],
    ['no key', 1, 2, 0],
  ])('takes empty sizes: %s', (_, B, Sq, Skv) => {
    const [query, key] = [tf.ones<tf.Rank.R4>([B, 2, Sq, 3]), tf.ones<tf.Rank.R4>([B, 1, Skv, 3])];
    const actual = attentionStatistics(
      { query, key, value: key },
      { mask: causal() },
      {
        ...{ entropy: rowEntropy(), top: topKeys(2), exact: exactWeights() },
        map: pooledWeights({ rows: 2, columns: 2 }),
      },
    );
    expect(numbersOf(actual.entropy)).toEqual(new Array(B * 2 * Sq).fill(0));
    expect(actual.entropy.shape).toEqual([B, 2, Sq]);
    expect(actual.top.indices.shape).toEqual([B, 2, Sq, 2]);
    expect(actual.map.shape).toEqual([B, 2, Math.ceil(Sq / 2), Math.ceil(Skv / 2)]);
    expect(actual.exact.shape).toEqual([B, 2, Sq, Skv]);
  });

  it('keeps its results, and nothing else; an error leaves nothing', () => {
    const { inputs } = inputsOf({ Sq: 5, Skv: 7 });
    const options = { mask: dense(tf.ones<tf.Rank.R2>([5, 7], 'bool')) };
    const before = memoryNow();
    const { entropy, top } = attentionStatistics(inputs, options, { entropy: rowEntropy(), top: topKeys(2) });
    expect(tf.memory().numTensors).toBe(before.numTensors + 3);
    tf.dispose([entropy, top.indices, top.weights]);
    expectSameMemory(before);
    const late = exactWeights({ columns: [0, 8] });
    expect(() => attentionStatistics(inputs, options, { late })).toThrow(/columns must be keys of the call/);
    expectSameMemory(before);
  });
});
