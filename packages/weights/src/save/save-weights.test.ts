import { ConfigError } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { loadWeights } from '../load/load-weights';
import { readSafetensors } from '../safetensors/read-safetensors';
import { saveWeights } from './save-weights';

const layerOf = (seed: number) =>
  new MultiHeadAttention({ embedDim: 6, numHeads: 2, useBias: true, seed }, { name: 'block0/attention' });
type Layer = ReturnType<typeof layerOf>;

const batch = (step: number) => tf.randomNormal<tf.Rank.R3>([2, 5, 6], 0, 1, 'float32', 100 + step);

/** Some steps towards outputs that are the tokens in reverse. */
function train(layer: Layer, optimizer: tf.Optimizer, [from, to]: readonly [number, number]): void {
  const variables = layer.variables.map(({ variable }) => variable);
  for (let step = from; step < to; step++) {
    optimizer.minimize(
      () => {
        const query = batch(step);
        const { output } = layer.apply({ query });
        return tf.mean(tf.square(tf.sub(output, tf.reverse(query, 1)))) as tf.Scalar;
      },
      false,
      variables,
    );
  }
}

const numbersOf = (layer: Layer) => layer.variables.map(({ variable }) => variable.dataSync());

const optimizers = {
  sgd: { create: () => tf.train.sgd(0.1), tolerance: 0 },
  momentum: { create: () => tf.train.momentum(0.1, 0.9), tolerance: 0 },
  rmsprop: { create: () => tf.train.rmsprop(0.01, 0.9, 0.5, 1e-7, true), tolerance: 0 },
  adagrad: { create: () => tf.train.adagrad(0.1), tolerance: 0 },
  adadelta: { create: () => tf.train.adadelta(0.1), tolerance: 0 },
  // TensorFlow.js keeps powers of β as products, and takes them up again as powers.
  adam: { create: () => tf.train.adam(0.01), tolerance: 1e-6 },
};

describe('save, load and go on equals not having stopped', () => {
  it.each(Object.entries(optimizers))('%s', async (_, { create, tolerance }) => {
    const [whole, wholeOptimizer] = [layerOf(1), create()];
    train(whole, wholeOptimizer, [0, 6]);
    const [stopped, stoppedOptimizer] = [layerOf(1), create()];
    train(stopped, stoppedOptimizer, [0, 3]);
    const file = await saveWeights(stopped, { optimizer: stoppedOptimizer });

    // Variables that another program makes in between: the optimizer's own names would be others.
    tf.variable(tf.scalar(1));
    const [resumed, optimizer] = [layerOf(2), create()];
    await loadWeights(resumed, await readSafetensors(file), undefined, { optimizer });
    expect(optimizer.iterations).toBe(3);
    train(resumed, optimizer, [3, 6]);
    numbersOf(whole).forEach((numbers, n) => {
      const other = numbersOf(resumed)[n]!;
      if (tolerance === 0) expect(other).toEqual(numbers);
      else
        for (const [i, x] of numbers.entries())
          expect(Math.abs(other[i]! - x)).toBeLessThanOrEqual(tolerance);
    });
  });
});

describe('saveWeights', () => {
  it('leaves nothing in memory, nor does loading', async () => {
    const [layer, optimizer] = [layerOf(1), tf.train.adam(0.01)];
    train(layer, optimizer, [0, 2]);
    const before = tf.memory().numTensors;
    const file = await saveWeights(layer, { optimizer });
    expect(tf.memory().numTensors).toBe(before);
    await loadWeights(layer, await readSafetensors(file), undefined, { optimizer });
    expect(tf.memory().numTensors).toBe(before);
  });

  it('writes what loads without a table, with or without the optimizer', async () => {
    const layer = layerOf(1);
    const optimizer = tf.train.momentum(0.1, 0.9);
    train(layer, optimizer, [0, 1]);
    for (const options of [{}, { optimizer }]) {
      const other = layerOf(2);
      const file = await saveWeights(layer, { ...options, metadata: { step: '1' } });
      const checkpoint = await readSafetensors(file);
      const report = await loadWeights(other, checkpoint);
      expect(numbersOf(other)).toEqual(numbersOf(layer));
      expect(report.used).toEqual(layer.variables.map(({ name }) => name));
      expect(report.unused).toEqual([]);
      expect(checkpoint.metadata.get('step')).toBe('1');
    }
  });

  it('halves a file by 16-bit numbers, which are rounded', async () => {
    const layer = layerOf(1);
    const other = layerOf(2);
    await loadWeights(other, await readSafetensors(await saveWeights(layer, { type: 'F16' })));
    numbersOf(layer).forEach((numbers, n) => {
      for (const [i, x] of numbers.entries())
        expect(Math.abs(numbersOf(other)[n]![i]! - x)).toBeLessThanOrEqual(Math.abs(x) * 2 ** -11);
    });
  });

  it('refuses an optimizer that trains others, is another, or cannot be saved', async () => {
    const [layer, other] = [layerOf(1), layerOf(2)];
    const optimizer = tf.train.momentum(0.1, 0.9);
    train(other, optimizer, [0, 1]);
    await expect(saveWeights(layer, { optimizer })).rejects.toThrow(/variables of this model only/);
    await expect(saveWeights(layer, { optimizer: tf.train.adamax(0.1) })).rejects.toThrow(/can be saved/);
    await expect(saveWeights(layer, { optimizer, type: 'F16' })).rejects.toThrow(ConfigError);
    const checkpoint = await readSafetensors(await saveWeights(other, { optimizer }));
    const before = numbersOf(layer);
    const load = loadWeights(layer, checkpoint, undefined, { optimizer: tf.train.adam(0.1) });
    await expect(load).rejects.toThrow(/state of such an optimizer/);
    expect(numbersOf(layer)).toEqual(before);
    const empty = await readSafetensors(await saveWeights(other));
    await expect(loadWeights(other, empty, undefined, { optimizer })).rejects.toThrow(/none/);
  });
});
