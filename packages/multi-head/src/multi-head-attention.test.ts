import { causal, countParameters, validLengths } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { MultiHeadAttention, variableShapes } from './index';

const random = (shape: [number, number, number], seed = 1): tf.Tensor3D =>
  tf.randomNormal(shape, 0, 1, 'float32', seed);
const parameters = (embedDim: number, numHeads: number, useBias = false) =>
  countParameters(variableShapes({ embedDim, numHeads, useBias }));

describe('MultiHeadAttention', () => {
  // Zhang et al., Dive into Deep Learning, section 11.5.
  it('has the shapes of the textbook example: 2 entries, 4 queries, 6 keys, 100 hidden, 5 heads', () => {
    const layer = new MultiHeadAttention({ embedDim: 100, numHeads: 5, dropout: 0.5 });
    const result = layer.apply(
      { query: random([2, 4, 100]), key: random([2, 6, 100], 2) },
      { mask: validLengths([3, 2]), returns: ['weights', 'headOutputs', 'logSumExp'] },
    );
    expect(result.output.shape).toEqual([2, 4, 100]);
    expect(result.headOutputs!.shape).toEqual([2, 5, 4, 20]);
    expect(result.weights!.shape).toEqual([2, 5, 4, 6]);
    expect(result.logSumExp!.shape).toEqual([2, 5, 4]);
    expect(result.kernel).toBe('composed');
    const hidden = tf.slice(result.weights!, [1, 0, 0, 2], [1, 5, 4, 4]);
    expect([...new Set(hidden.dataSync())]).toEqual([0]);
    layer.dispose();
  });

  it('has as many parameters as the texts count, without allocating', () => {
    const before = tf.memory().numTensors;
    expect(parameters(512, 8)).toBe(1_048_576);
    expect(parameters(512, 8, true)).toBe(1_050_624);
    expect(parameters(768, 12)).toBe(2_359_296);
    expect(parameters(12288, 96)).toBe(603_979_776);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('has parameters that do not depend on the number of heads', () => {
    for (const numHeads of [1, 2, 4, 8, 16]) expect(parameters(64, numHeads)).toBe(4 * 64 * 64);
  });

  it('takes the form with projections E * H wide as one config', () => {
    const shapes = variableShapes({ embedDim: 16, numHeads: 8, headDim: 16 });
    expect(shapes).toEqual({
      'query/kernel': [16, 128],
      'key/kernel': [16, 128],
      'value/kernel': [16, 128],
      'output/kernel': [128, 16],
    });
  });

  it('lets each width be its own', () => {
    const layer = new MultiHeadAttention({
      embedDim: 6,
      numHeads: 3,
      headDim: 4,
      valueHeadDim: 5,
      keyEmbedDim: 7,
      valueEmbedDim: 8,
      outputDim: 9,
      useBias: true,
    });
    const inputs = { query: random([2, 3, 6]), key: random([2, 5, 7]), value: random([2, 5, 8]) };
    expect(layer.apply(inputs).output.shape).toEqual([2, 3, 9]);
    expect(layer.cacheShape(2)).toEqual({ batch: 2, heads: 3, keySize: 4, valueSize: 5 });
    layer.dispose();
  });

  it('attends to itself when only a query is given', () => {
    const layer = new MultiHeadAttention({ embedDim: 8, numHeads: 2, seed: 1 });
    const x = random([2, 5, 8]);
    const alone = layer.apply({ query: x }, { mask: causal() });
    const spelled = layer.apply({ query: x, key: x, value: x }, { mask: causal() });
    expect(alone.output.dataSync()).toEqual(spelled.output.dataSync());
    layer.dispose();
  });

  it('drops weights in training only, the same ones for the same seed', () => {
    const layer = new MultiHeadAttention({ embedDim: 8, numHeads: 2, dropout: 0.5, seed: 1 });
    const x = random([2, 6, 8]);
    const output = (seed?: number) => [
      ...layer.apply({ query: x }, seed === undefined ? {} : { training: { seed } }).output.dataSync(),
    ];
    expect(output()).toEqual(output());
    expect(output(3)).toEqual(output(3));
    expect(output(3)).not.toEqual(output(4));
    expect(output(3)).not.toEqual(output());
    layer.dispose();
  });

  it('trains: 60 steps of copying the previous token lower the loss tenfold', () => {
    const layer = new MultiHeadAttention({ embedDim: 12, numHeads: 2, useBias: true, seed: 2 });
    const x = random([4, 6, 12], 7);
    const target = tf.pad(tf.slice(x, [0, 0, 0], [4, 5, 12]), [
      [0, 0],
      [1, 0],
      [0, 0],
    ]);
    const place = tf.tile(tf.expandDims(tf.mul(2, tf.eye(6, 12)), 0), [4, 1, 1]) as tf.Tensor3D;
    const marked: tf.Tensor3D = tf.add(x, place);
    const optimizer = tf.train.adam(0.03);
    const loss = (): tf.Scalar =>
      tf.mean(tf.square(tf.sub(layer.apply({ query: marked }, { mask: causal() }).output, target)));
    const losses: number[] = [];
    let tensors = 0;
    for (let step = 0; step < 60; step++) {
      const value = optimizer.minimize(loss, true)!;
      losses.push(value.dataSync()[0]!);
      value.dispose();
      if (step === 0) tensors = tf.memory().numTensors;
    }
    expect(tf.memory().numTensors).toBe(tensors);
    expect(losses.at(-1)!).toBeLessThan(losses[0]! / 10);
    layer.dispose();
    optimizer.dispose();
  });

  it.each(['rotary', 5, {}, [], { tables: 3 }, () => {}])('refuses %j for a position method', (position) => {
    const make = () => new MultiHeadAttention({ embedDim: 8, numHeads: 2 }, { position: position as never });
    expect(make).toThrow(/position must be a PositionMethod/);
  });

  it.each([
    [{ embedDim: 10, numHeads: 3 }, /embedDim must divide by numHeads[\s\S]*embedDim +10[\s\S]*numHeads +3/],
    [{ embedDim: 0, numHeads: 1 }, /embedDim must be a whole number above 0/],
    [{ embedDim: 8, numHeads: 2.5 }, /numHeads must be a whole number above 0/],
    [{ embedDim: 8, numHeads: 2, headDim: -1 }, /headDim must be/],
    [{ embedDim: 8, numHeads: 2, dropout: 1 }, /dropout must be at least 0 and below 1/],
    [{ embedDim: 8, numHeads: 2, dropout: Number.NaN }, /dropout must be/],
    [{ embedDim: 8, numHeads: 2, seed: 0.5 }, /seed must be a whole number/],
    [{ embedDim: 8, numHeads: 2, scale: Infinity }, /scale must be a finite number/],
    [{ embedDim: 8, numHeads: 2, softcap: -1 }, /softcap must be above 0/],
    [
      { embedDim: 8, numHeads: 2, queryKeyNorm: { kind: 'batch' } },
      /queryKeyNorm.kind must be one of rms, layer, l2/,
    ],
    [
      { embedDim: 8, numHeads: 2, queryKeyNorm: { kind: 'rms', epsilon: -1 } },
      /queryKeyNorm.epsilon must be/,
    ],
    [{ embedDim: 8, numHeads: 2, outputGate: 'row' }, /outputGate must be one of number, head/],
    [{ embedDim: 8, numHeads: 2, learnedSinks: 1 }, /learnedSinks must be true or false/],
    [{ embedDim: 8, numHeads: 2, numHead: 2 }, /known options only[\s\S]*unknown +\[numHead\]/],
    [{ embedDim: 8 }, /numHeads must be a whole number above 0/],
  ])('refuses the config %j', (config, message) => {
    const before = tf.memory().numTensors;
    expect(() => new MultiHeadAttention(config as never)).toThrow(message);
    expect(tf.memory().numTensors).toBe(before);
  });
});
