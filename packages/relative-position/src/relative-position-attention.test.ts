import { expectClose, layerNumbers, numbersOf, toHost, tokenByToken } from '@polyhead/conformance';
import { causal, countParameters } from '@polyhead/core';
import { GrowingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { RelativePositionAttention, rotary, shaw, variableShapes } from './index';

const config = { embedDim: 12, numHeads: 3, maxRelativePosition: 2, seed: 4 };
const random = (shape: [number, number, number], seed = 1) =>
  tf.randomNormal<tf.Rank.R3>(shape, 0, 1, 'float32', seed);

describe('RelativePositionAttention', () => {
  it('has a table of keys for distances up to 128, which all heads share', () => {
    const shapes = variableShapes({ embedDim: 512, numHeads: 8 });
    expect(shapes['position/keys']).toEqual([257, 64]);
    expect(shapes['position/values']).toBeUndefined();
    expect(countParameters(shapes)).toBe(4 * 512 * 512 + 257 * 64);
  });

  it('has tables for each head and for values where asked', () => {
    const shapes = variableShapes({ ...config, valueHeadDim: 5, perHead: true, valueTable: 'own' });
    expect(shapes['position/keys']).toEqual([3, 5, 4]);
    expect(shapes['position/values']).toEqual([3, 5, 5]);
  });

  it('owns its tables: reads, sets, trains and disposes them', () => {
    const layer = new RelativePositionAttention({ ...config, valueTable: 'own' });
    expect(Object.keys(layer.getWeights()).slice(-2)).toEqual(['position/keys', 'position/values']);
    expect(layer.variables.map(({ name }) => name)).toEqual(
      Object.keys(variableShapes({ ...config, valueTable: 'own' })),
    );
    const zeros = { 'position/keys': tf.zeros([5, 4]), 'position/values': tf.zeros([5, 4]) };
    layer.setWeights({ ...layer.getWeights(), ...zeros });
    const plain = new MultiHeadAttention({ embedDim: 12, numHeads: 3 });
    const { 'position/keys': _, 'position/values': __, ...projections } = layer.getWeights();
    plain.setWeights(projections);
    const query = random([2, 6, 12]);
    const [one, other] = [layer, plain].map((each) =>
      toHost(each.apply({ query }, { mask: causal() }).output),
    );
    expectClose({ actual: { output: one! }, expected: { output: other! } });
    const variables = layer.variables.map(({ variable }) => variable);
    const { grads } = tf.variableGrads(() => tf.sum(tf.square(layer.apply({ query }).output)), variables);
    for (const variable of variables.slice(-2)) {
      expect(numbersOf(tf.sum(tf.abs(grads[variable.name]!)))[0]).toBeGreaterThan(1e-3);
    }
    layer.dispose();
    expect(variables.every((variable) => variable.isDisposed)).toBe(true);
    plain.dispose();
  });

  it('equals multi-head attention given the same tables as a part', async () => {
    const options = { ...config, valueTable: 'own', perHead: true, beyond: 'zero' } as const;
    const layer = new RelativePositionAttention(options);
    const { perHead: _, maxRelativePosition, valueTable, beyond, ...plain } = options;
    const position = shaw({ headDim: 4, numHeads: 3, maxRelativePosition, valueTable, beyond });
    const other = new MultiHeadAttention(plain, { position });
    const weights = layer.getWeights();
    for (const { name, variable } of other.variables) variable.assign(weights[name]!);
    const query = random([2, 7, 12]);
    expectClose({
      actual: await layerNumbers(layer, { query }, { returns: ['weights', 'logSumExp', 'headOutputs'] }),
      expected: await layerNumbers(other, { query }, { returns: ['weights', 'logSumExp', 'headOutputs'] }),
    });
    for (const each of [layer, other, position]) each.dispose();
  });

  it('takes another method in place of its tables, and then no options of tables', () => {
    const position = rotary({ headDim: 4 });
    const { maxRelativePosition: _, ...plain } = config;
    const [layer, other] = [
      new RelativePositionAttention(plain, { position }),
      new MultiHeadAttention(plain, { position }),
    ];
    expect(layer.variables.map(({ name }) => name)).toEqual(other.variables.map(({ name }) => name));
    const query = random([1, 5, 12]);
    expect(numbersOf(layer.apply({ query }).output)).toEqual(numbersOf(other.apply({ query }).output));
    expect(() => new RelativePositionAttention(config, { position })).toThrow(
      /options of the tables +\[maxRelativePosition\]/,
    );
    layer.dispose();
    other.dispose();
  });

  it('decodes against a cache what one pass gives', () => {
    const layer = new RelativePositionAttention({ ...config, valueTable: 'own' });
    const query = random([2, 7, 12]);
    const cache = new GrowingCache(layer.cacheShape(2));
    const steps = tokenByToken(layer, query, { mask: causal(), cache });
    const { output } = layer.apply({ query }, { mask: causal() });
    expectClose({ actual: { output: toHost(steps) }, expected: { output: toHost(output) } });
    cache.dispose();
    layer.dispose();
  });

  it('is rebuilt by its config', () => {
    const layer = new RelativePositionAttention({ ...config, perHead: true });
    const again = new RelativePositionAttention(JSON.parse(JSON.stringify(layer.config)));
    const query = random([1, 5, 12]);
    expect(numbersOf(again.apply({ query }).output)).toEqual(numbersOf(layer.apply({ query }).output));
    layer.dispose();
    again.dispose();
  });

  it.each<[object, RegExp]>([
    [{ maxRelativePosition: -1 }, /maxRelativePosition must be a whole number from 0 on/],
    [{ maxRelativePosition: 1.5 }, /maxRelativePosition must be a whole number from 0 on/],
    [{ valueTable: 'some' }, /valueTable must be one of none, own, keys/],
    [{ beyond: 'far' }, /beyond must be one of clip, zero/],
    [{ perHead: 1 }, /perHead must be true or false/],
    [{ valueTable: 'keys', valueHeadDim: 3 }, /one size to share a table/],
    [{ distance: 3 }, /unknown +\[distance\]/],
  ])('refuses %j', (options, message) => {
    expect(() => new RelativePositionAttention({ embedDim: 12, numHeads: 3, ...options })).toThrow(message);
  });

  it('refuses parts that are no object', () => {
    const parts = 5 as unknown as object;
    expect(() => new RelativePositionAttention({ embedDim: 12, numHeads: 3 }, parts)).toThrow(
      /parts must be an object/,
    );
  });
});
