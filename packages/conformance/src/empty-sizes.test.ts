// Calls of which a size is 0: every result and gradient is 0, or empty, with every option.
import { type AttendOptions, attend, causal, composed, type RelativeTables } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';

const R = 3;
const index = { from: -1, rows: Int32Array.of(0, 1, 2) };

/** Tensors of ones of these sizes, by name; the last ones are those of options. */
function tensorsOf([B, Hq, Hkv, Sq, Skv, D, Dv]: readonly number[]): Record<string, tf.Tensor> {
  return {
    query: tf.ones([B!, Hq!, Sq!, D!]),
    key: tf.ones([B!, Hkv!, Skv!, D!]),
    value: tf.ones([B!, Hkv!, Skv!, Dv!]),
    bias: tf.ones([1, Hq!, 1, Skv!]),
    sinkLogits: tf.ones([Hq!]),
    biasTable: tf.ones([Hq!, R]),
    keyTable: tf.ones([1, R, D!]),
    queryTable: tf.ones([Hq!, R, D!]),
    valueTable: tf.ones([1, R, Dv!]),
  };
}

function attendTo(x: Record<string, tf.Tensor>, options: AttendOptions) {
  const relative = {
    bias: { table: x.biasTable, index },
    keys: { table: x.keyTable, index },
    queries: { table: x.queryTable, index },
    values: { table: x.valueTable, index },
  } as RelativeTables;
  const { query, key, value, bias, sinkLogits } = x as Record<'query' | 'key' | 'value', tf.Tensor4D> &
    Record<'bias' | 'sinkLogits', tf.Tensor>;
  return attend(composed(), { query, key, value }, {
    ...options,
    bias,
    sinkLogits,
    relative,
    softcap: 2,
    dropout: { rate: 0.5, seed: 1 },
  } as AttendOptions);
}

const shapes = {
  'no batch entry': [0, 4, 2, 3, 3, 2, 2],
  'no query': [2, 4, 2, 0, 3, 2, 2],
  'no key': [2, 4, 2, 3, 0, 2, 2],
  'neither query nor key': [2, 4, 2, 0, 0, 2, 2],
};
const returns = [[], ['weights'], ['logSumExp'], ['weights', 'logSumExp']] as const;

describe.each(Object.entries(shapes))('%s', (_, sizes) => {
  it.each(returns.map((names) => [names]))('gives zeros, and gradients of 0; asked for %j', async (names) => {
    const tensors = tensorsOf(sizes);
    const options = { mask: causal(), returns: names };
    const { output, weights } = attendTo(tensors, options);
    expect([...(await output.data())].every((x) => x === 0)).toBe(true);
    expect(output.shape).toEqual([sizes[0], sizes[1], sizes[3], sizes[6]]);
    if (weights) expect(weights.shape).toEqual([sizes[0], sizes[1], sizes[3], sizes[4]]);
    const keys = Object.keys(tensors);
    const gradients = tf.grads((...taped) => {
      const results = attendTo(Object.fromEntries(keys.map((name, n) => [name, taped[n]!])), options);
      const sums = [results.output, results.weights].map((x) => (x ? tf.sum(x) : tf.scalar(0)));
      return tf.add(sums[0]!, sums[1]!);
    })(Object.values(tensors));
    for (const [n, name] of keys.entries()) {
      expect(gradients[n]!.shape, name).toEqual(tensors[name]!.shape);
      expect(
        [...(await gradients[n]!.data())].every((x) => x === 0),
        name,
      ).toBe(true);
    }
  });
});

it('a query of NaN that has no key gives 0', async () => {
  const query = tf.fill<tf.Rank.R4>([1, 1, 2, 2], Number.NaN);
  const none = tf.zeros<tf.Rank.R4>([1, 1, 0, 2]);
  const sinkLogits = tf.tensor1d([1]);
  for (const options of [{}, { sinkLogits }, { mask: causal() }]) {
    const call = { query, key: none, value: none };
    const { output, logSumExp } = attend(composed(), call, { ...options, returns: ['logSumExp'] });
    expect([...(await output.data())]).toEqual([0, 0, 0, 0]);
    const empty = 'sinkLogits' in options ? 1 : Number.NEGATIVE_INFINITY;
    expect([...(await logSumExp!.data())]).toEqual([empty, empty]);
  }
});
