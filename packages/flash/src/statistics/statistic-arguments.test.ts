// What statistics refuse, by name.
import { useOpaqueBackend } from '@polyhead/conformance';
import { attend } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  attentionStatistics,
  exactWeights,
  flash,
  pooledWeights,
  rowEntropy,
  type Statistics,
  type StatisticsOptions,
  topKeys,
  withStatistics,
} from '../index';

function inputs() {
  const heads = (S: number) => tf.ones<tf.Rank.R4>([1, 2, S, 3]);
  return { query: heads(4), key: heads(5), value: heads(5) };
}

describe('a statistic refuses', () => {
  it.each<readonly [string, () => unknown, RegExp]>([
    ['no keys', () => topKeys(0), /topKeys: k must be a whole number above 0\s+k +0/],
    ['part of a key', () => topKeys(1.5), /topKeys: k must be a whole number above 0\s+k +1.5/],
    [
      'blocks of no query',
      () => pooledWeights({ rows: 0, columns: 2 }),
      /pooledWeights: rows must be a whole number/,
    ],
    [
      'blocks of part of a key',
      () => pooledWeights({ rows: 2, columns: 0.5 }),
      /columns must be a whole number/,
    ],
    ['no size of blocks', () => pooledWeights({ rows: 2 } as never), /columns must be a whole number/],
    [
      'another pool',
      () => pooledWeights({ rows: 2, columns: 2, pool: 'sum' as never }),
      /one of mass, mean, max/,
    ],
    [
      'unknown options',
      () => pooledWeights({ rows: 2, columns: 2, stride: 2 } as never),
      /unknown +\[stride\]/,
    ],
    [
      'a negative window',
      () => exactWeights({ columns: [-1, 3] }),
      /exactWeights: columns must be \[from, to\]/,
    ],
    ['an empty window', () => exactWeights({ columns: [3, 3] }), /columns must be \[from, to\]/],
    ['half a window', () => exactWeights({ columns: [3] as never }), /columns must be \[from, to\]/],
  ])('%s', (_, make, message) => {
    expect(make).toThrow(message);
  });
});

describe('attentionStatistics refuses', () => {
  const entropy = rowEntropy();
  it.each<readonly [string, Statistics, StatisticsOptions, RegExp]>([
    ['no statistics', {}, {}, /statistics must have names[\s\S]*at least one/],
    ['what is none', { entropy: rowEntropy as never }, {}, /statistics must have names/],
    [
      'a list',
      [entropy] as never,
      { heads: [2] },
      /heads must be query heads of the call\s+heads +\[2\]\s+Hq +2/,
    ],
    ['no heads', { entropy }, { heads: [] }, /heads must be a list of query heads/],
    ['a head twice', { entropy }, { heads: [1, 1] }, /none of them twice/],
    ['a negative head', { entropy }, { heads: [-1] }, /heads must be a list of query heads/],
    ['negative rows', { entropy }, { rows: [-2, 1] }, /rows must be \[from, to\] with 0 <= from < to/],
    [
      'rows behind the last',
      { entropy },
      { rows: [2, 5] },
      /rows must be queries of the call\s+rows +\[2, 5\]\s+Sq +4/,
    ],
    [
      'keys behind the last',
      { w: exactWeights({ columns: [2, 6] }) },
      {},
      /exactWeights: columns must be keys of the call/,
    ],
    [
      'more than fits into memory',
      { top: topKeys(2 ** 26) },
      {},
      /topKeys: results must have less than 2\^28/,
    ],
    ['unknown looks', { entropy }, { entry: 0 } as never, /unknown +\[entry\]/],
    ['a number as look', { entropy }, 5 as never, /options must be an object\s+options +5/],
    ['a list as look', { entropy }, [0, 1] as never, /options must be an object/],
    ['no tensor', { entropy }, { logSumExp: [0] as never }, /logSumExp must be a tensor \[B, Hq, Sq\]/],
  ])('%s', (_, statistics, look, message) => {
    expect(() => attentionStatistics(inputs(), {}, statistics, look)).toThrow(message);
  });

  it('the log-sum-exp of another call', () => {
    const logSumExp = tf.zeros([1, 2, 5]);
    expect(() => attentionStatistics(inputs(), {}, { entropy }, { logSumExp })).toThrow(
      /logSumExp must be that of the call/,
    );
  });

  it('options that attend refuses, and returns', () => {
    const look = (options: object | null) => () =>
      attentionStatistics(inputs(), options as never, { entropy });
    expect(look({ returns: ['weights'] })).toThrow(/attentionStatistics: [\s\S]*leave returns to attend/);
    expect(look({ sofcap: 2 })).toThrow(
      /attentionStatistics: options may hold known options only[\s\S]*\[sofcap\]/,
    );
    expect(look(5 as never)).toThrow(/attentionStatistics: options must be an object/);
    expect(look(null)).not.toThrow(); // left out
    expect(() => attentionStatistics(null as never, {}, { entropy })).toThrow(/attentionStatistics: inputs/);
  });

  it('to stand in a gradient, and a device that must be waited for', async () => {
    const { query, key, value } = inputs();
    const loss = (x: tf.Tensor) =>
      tf.sum(
        attentionStatistics({ query: x as tf.Tensor4D, key, value }, {}, { entropy }).entropy,
      ) as tf.Scalar;
    expect(() => tf.grad(loss)(query)).toThrow(/statistics have no gradient/);
    const restore = await useOpaqueBackend();
    try {
      expect(() => attentionStatistics(inputs(), {}, { entropy })).toThrow(
        /cannot be read on backend "opaque"[\s\S]*without waiting for a device/,
      );
    } finally {
      await restore();
    }
  });
});

describe('withStatistics refuses', () => {
  const entropy = rowEntropy();
  const onResults = () => {};
  it.each<readonly [string, () => unknown, RegExp]>([
    [
      'no kernel',
      () => withStatistics({} as never, { entropy }, onResults),
      /kernel must be an AttentionKernel/,
    ],
    [
      'no statistics',
      () => withStatistics(flash(), {}, onResults),
      /withStatistics: statistics must have names/,
    ],
    [
      'nothing to call',
      () => withStatistics(flash(), { entropy }, null as never),
      /onResults must be a function/,
    ],
    [
      'no rows',
      () => withStatistics(flash(), { entropy }, onResults, { rows: [1, 1] }),
      /rows must be \[from, to\]/,
    ],
  ])('%s', (_, make, message) => {
    expect(make).toThrow(message);
  });

  it('calls without the rows it looks at', () => {
    const kernel = withStatistics(flash(), { entropy }, onResults, { rows: [0, 5] });
    expect(() => attend(kernel, inputs())).toThrow(/withStatistics: rows must be queries/);
  });
});
