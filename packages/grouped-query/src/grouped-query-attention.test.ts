import { ConfigError, causal, countParameters, isAttentionError } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { fromMultiHead, GroupedQueryAttention, variableShapes } from './index';

const random = (shape: [number, number, number], seed = 1): tf.Tensor3D =>
  tf.randomNormal(shape, 0, 1, 'float32', seed);

function expectClose(one: tf.Tensor, other: tf.Tensor, tolerance = 1e-5) {
  expect(one.shape).toEqual(other.shape);
  expect(tf.max(tf.abs(tf.sub(one, other))).dataSync()[0]).toBeLessThan(tolerance);
}

/** [in, Hkv * D] with each head written G times: what a multi-head layer needs to compute the same. */
function repeatHeads(kernel: tf.Tensor, heads: number, G: number): tf.Tensor {
  const [inputs, width] = kernel.shape as [number, number];
  const D = width / heads;
  const grouped = tf.reshape(kernel, [inputs * heads, 1, D]);
  return tf.reshape(tf.tile(grouped, [1, G, 1]), [inputs, heads * G * D]);
}

describe('GroupedQueryAttention', () => {
  // Cases D1 and D8: keys of zero make weights uniform, so that an output shows which value head was read.
  it('reads adjacent groups: query heads 0 and 1 see key/value head 0, heads 2 and 3 see head 1', () => {
    const layer = new GroupedQueryAttention({ embedDim: 4, numHeads: 4, numKeyValueHeads: 2 });
    const x = tf.ones<tf.Rank.R3>([1, 2, 4]);
    const zeros = Object.fromEntries(
      Object.entries(variableShapes(layer.config)).map(([name, shape]) => [name, tf.zeros([...shape])]),
    );
    const value = tf.tensor2d([
      [10, 20],
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    layer.setWeights({ ...zeros, 'value/kernel': value });
    const { headOutputs } = layer.apply({ query: x }, { returns: ['headOutputs'] });
    expectClose(
      tf.slice(headOutputs!, [0, 0, 0, 0], [1, 4, 1, 1]),
      tf.tensor4d([10, 10, 20, 20], [1, 4, 1, 1]),
    );
    layer.dispose();
  });

  it('with as many key/value heads as heads is multi-head attention, exactly', () => {
    const config = { embedDim: 12, numHeads: 3, useBias: true, seed: 5 };
    const grouped = new GroupedQueryAttention({ ...config, numKeyValueHeads: 3 });
    const multi = new MultiHeadAttention(config);
    const x = random([2, 5, 12]);
    const [one, other] = [grouped, multi].map(
      (layer) => layer.apply({ query: x }, { mask: causal() }).output,
    );
    expect(one!.dataSync()).toEqual(other!.dataSync());
    grouped.dispose();
    multi.dispose();
  });

  it.each([1, 2, 3, 6])(
    'with %i of 6 heads equals multi-head attention with its keys and values repeated',
    (heads) => {
      const config = { embedDim: 12, numHeads: 6, seed: 3 };
      const grouped = new GroupedQueryAttention({ ...config, numKeyValueHeads: heads });
      const multi = new MultiHeadAttention(config);
      const weights = grouped.getWeights();
      const repeated = (name: string) => repeatHeads(weights[name]!, heads, 6 / heads);
      multi.setWeights({
        ...weights,
        'key/kernel': repeated('key/kernel'),
        'value/kernel': repeated('value/kernel'),
      });
      const inputs = { query: random([2, 5, 12]), key: random([2, 7, 12], 2) };
      expectClose(grouped.apply(inputs).output, multi.apply(inputs).output);
      grouped.dispose();
      multi.dispose();
    },
  );

  it.each([
    [3, 2],
    [33, 2],
    [4, 0],
    [2, 4],
  ])('refuses %i heads over %i key/value heads, with both numbers', (numHeads, numKeyValueHeads) => {
    const make = () => new GroupedQueryAttention({ embedDim: 2 * numHeads, numHeads, numKeyValueHeads });
    expect(make).toThrow(numKeyValueHeads === 0 ? /numKeyValueHeads +0/ : /numHeads must be a multiple/);
    if (numKeyValueHeads > 0) {
      expect(make).toThrow(new RegExp(`numHeads +${numHeads}\\n +numKeyValueHeads +${numKeyValueHeads}`));
    }
  });

  it('asks for the number of key/value heads', () => {
    expect(() => new GroupedQueryAttention({ embedDim: 8, numHeads: 2 } as never)).toThrow(
      /numKeyValueHeads must be given/,
    );
  });

  it('has the parameters of the published layer: 4096 wide, 32 over 8 heads', () => {
    const shapes = variableShapes({ embedDim: 4096, numHeads: 32, numKeyValueHeads: 8 });
    expect(countParameters(shapes)).toBe(41_943_040);
  });

  // With all weights c and inputs 1, each head is the mean of equal values E c, and each output Hq D c of them.
  it('works at the size of a published layer: (2, 10, 4096) with 32 over 8 heads', {
    timeout: 120_000,
  }, ({ skip }) => {
    skip(tf.getBackend() === 'cpu', 'plain JavaScript takes seconds for its products');
    const c = 1 / 1024;
    const config = { embedDim: 4096, numHeads: 32, numKeyValueHeads: 8 };
    const layer = new GroupedQueryAttention(config, { initializer: (shape) => tf.fill([...shape], c) });
    const { output } = layer.apply({ query: tf.ones<tf.Rank.R3>([2, 10, 4096]) }, { mask: causal() });
    expect(output.shape).toEqual([2, 10, 4096]);
    expect(tf.max(tf.abs(tf.sub(output, 16))).dataSync()[0]).toBeLessThan(1e-3);
    layer.dispose();
  });

  it('makes neither more nor larger keys and values than its heads need', () => {
    const layer = new GroupedQueryAttention({ embedDim: 64, numHeads: 8, numKeyValueHeads: 2 });
    expect(layer.cacheShape(3)).toEqual({ batch: 3, heads: 2, keySize: 8, valueSize: 8 });
    layer.dispose();
  });
});

describe('fromMultiHead', () => {
  it('pools the key and value heads of each group by their mean', () => {
    const kernel = tf.tensor2d([[1, 2, 3, 4, 10, 20, 30, 40]]); // 4 heads of 2
    const weights = {
      'query/kernel': kernel,
      'key/kernel': kernel,
      'key/bias': tf.tensor1d([1, 1, 3, 3, 5, 5, 9, 9]),
    };
    const pooled = fromMultiHead(weights, { numHeads: 4, numKeyValueHeads: 2 });
    expect(pooled['key/kernel']!.arraySync()).toEqual([[2, 3, 20, 30]]);
    expect(pooled['key/bias']!.arraySync()).toEqual([2, 2, 7, 7]);
    expect(pooled['query/kernel']!.arraySync()).toEqual(kernel.arraySync());
  });

  it.each(['head', 'all'] as const)('serves layers that normalize keys over %s', (over) => {
    const config = { embedDim: 16, numHeads: 4, seed: 1, queryKeyNorm: { kind: 'rms', over } } as const;
    const multi = new MultiHeadAttention(config);
    const grouped = new GroupedQueryAttention({ ...config, numKeyValueHeads: 2 });
    grouped.setWeights(fromMultiHead(multi.getWeights(), { numHeads: 4, numKeyValueHeads: 2 }));
    expect(grouped.apply({ query: random([1, 3, 16]) }).output.shape).toEqual([1, 3, 16]);
    multi.dispose();
    grouped.dispose();
  });

  it('changes nothing where the heads of a group are equal', () => {
    const multi = new MultiHeadAttention({ embedDim: 8, numHeads: 4, useBias: true, seed: 1 });
    const grouped = new GroupedQueryAttention({
      embedDim: 8,
      numHeads: 4,
      numKeyValueHeads: 2,
      useBias: true,
    });
    const equalHeads = Object.fromEntries(
      Object.entries(multi.getWeights()).map(([name, x]) => {
        if (!/^(key|value)\/kernel/.test(name)) return [name, x];
        return [name, repeatHeads(tf.slice(x, [0, 0], [8, 4]), 2, 2)];
      }),
    );
    multi.setWeights(equalHeads);
    grouped.setWeights(fromMultiHead(equalHeads, { numHeads: 4, numKeyValueHeads: 2 }));
    const x = random([2, 5, 8]);
    expectClose(grouped.apply({ query: x }).output, multi.apply({ query: x }).output);
    multi.dispose();
    grouped.dispose();
  });

  it('leaves only its result, and refuses heads that do not divide', () => {
    const weights = { 'key/kernel': tf.ones([2, 12]) };
    const before = tf.memory().numTensors;
    expect(() => fromMultiHead(weights, { numHeads: 6, numKeyValueHeads: 4 })).toThrow(
      /multiple of numKeyValueHeads/,
    );
    expect(() => fromMultiHead(weights, { numHeads: 5, numKeyValueHeads: 1 })).toThrow(
      /key\/kernel must be numHeads/,
    );
    fromMultiHead(weights, { numHeads: 6, numKeyValueHeads: 2 });
    expect(tf.memory().numTensors).toBe(before + 1);
  });

  it.each<[unknown, unknown]>([
    ['2', 1],
    [2, '1'],
    [true, true],
    [2, 0.5],
    [0.5, 0.5],
    [0, 0],
    [2, -1],
    [NaN, 1],
    [4, null],
    [undefined, 2],
  ])('refuses %j heads to %j', (numHeads, numKeyValueHeads) => {
    const weights = { 'key/kernel': tf.ones([2, 4]) };
    expect(() => fromMultiHead(weights, { numHeads, numKeyValueHeads } as never)).toThrow(ConfigError);
  });

  it('refuses what are no weights or no options by typed errors', () => {
    const weights = { 'key/kernel': tf.ones([2, 4]) };
    const options = { numHeads: 2, numKeyValueHeads: 1 };
    const calls: [unknown, unknown][] = [
      [weights, undefined],
      [weights, null],
      [weights, { ...options, heads: 1 }],
      [{ 'key/kernel': tf.scalar(1) }, options],
      [{ 'key/kernel': null }, options],
      [{}, options],
      [null, options],
      [undefined, undefined],
    ];
    for (const [some, call] of calls) {
      let thrown: unknown;
      try {
        fromMultiHead(some as never, call as never);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toSatisfy(isAttentionError);
    }
  });
});
