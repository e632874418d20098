import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { countParameters, Weights } from './weights';

const shapes = { 'query/kernel': [4, 6], 'key/kernel': [4, 6], 'query/bias': [6] };
const numbers = (weights: Weights, name: string) => [...weights.get(name).dataSync()];

describe('Weights', () => {
  it('start within the limit of Glorot and Bengio, biases at 0', () => {
    const weights = new Weights('Layer', shapes, { seed: 1 });
    const limit = Math.sqrt(6 / 10);
    const kernel = numbers(weights, 'query/kernel');
    expect(Math.max(...kernel.map(Math.abs))).toBeLessThanOrEqual(limit);
    expect(Math.max(...kernel) - Math.min(...kernel)).toBeGreaterThan(limit);
    expect(numbers(weights, 'query/bias')).toEqual([0, 0, 0, 0, 0, 0]);
    weights.dispose();
  });

  it('start several matrices within the limit of one', () => {
    const weights = new Weights('Layer', { tables: [50, 3, 3] }, { seed: 1 });
    const most = Math.max(...numbers(weights, 'tables').map(Math.abs));
    expect(most).toBeLessThanOrEqual(1); // sqrt(6 / (3 + 3))
    expect(most).toBeGreaterThan(0.9);
    weights.dispose();
  });

  it('start the same from the same seed, and differently by name and seed', () => {
    const [one, same, other] = [1, 1, 2].map((seed) => new Weights('Layer', shapes, { seed }));
    expect(numbers(one!, 'query/kernel')).toEqual(numbers(same!, 'query/kernel'));
    expect(numbers(one!, 'query/kernel')).not.toEqual(numbers(other!, 'query/kernel'));
    expect(numbers(one!, 'query/kernel')).not.toEqual(numbers(one!, 'key/kernel'));
    for (const weights of [one, same, other]) weights!.dispose();
  });

  it('take a given initializer, and leave nothing behind when it fails', () => {
    const weights = new Weights('Layer', shapes, { seed: 1, initializer: (shape) => tf.ones([...shape]) });
    expect(new Set(numbers(weights, 'key/kernel'))).toEqual(new Set([1]));
    weights.dispose();
    const before = tf.memory().numTensors;
    const misshapen = (shape: readonly number[], seed: number) => tf.ones(seed % 2 ? [...shape] : [1, 1]);
    const make = () => {
      for (let seed = 0; seed < 4; seed++)
        new Weights('Layer', shapes, { seed, initializer: misshapen }).dispose();
    };
    expect(make).toThrow(/must have its variable's shape/);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('set all or nothing', () => {
    const weights = new Weights('Layer', shapes, { seed: 1 });
    const read = weights.read();
    const before = numbers(weights, 'query/kernel');
    const zeros = {
      'query/kernel': tf.zeros([4, 6]),
      'key/kernel': tf.zeros([4, 6]),
      'query/bias': tf.zeros([6]),
    };
    expect(() => weights.write({ ...zeros, 'query/bias': tf.zeros([7]) })).toThrow(
      /query\/bias must have its/,
    );
    expect(() => weights.write({ ...zeros, extra: tf.zeros([1]) })).toThrow(/unknown +\[extra\]/);
    expect(() => weights.write({ 'query/kernel': tf.zeros([4, 6]) })).toThrow(
      /missing +\[key\/kernel, query\/bias\]/,
    );
    const lookAlike = { shape: [6], dtype: 'float32' } as never;
    expect(() => weights.write({ ...zeros, 'query/bias': lookAlike })).toThrow(
      /query\/bias must be a tensor/,
    );
    expect(() => weights.write(null as never)).toThrow(/weights must be tensors by name/);
    expect(numbers(weights, 'query/kernel')).toEqual(before);
    weights.write(zeros);
    expect(new Set(numbers(weights, 'query/kernel'))).toEqual(new Set([0]));
    weights.write(read);
    expect(numbers(weights, 'query/kernel')).toEqual(before);
    const [one, other] = ['query/kernel', 'key/kernel'].map((name) => weights.get(name)) as [
      tf.Variable,
      tf.Variable,
    ];
    const ofKey = numbers(weights, 'key/kernel');
    weights.write({ ...zeros, 'query/kernel': other, 'key/kernel': one }); // its own, swapped
    expect(numbers(weights, 'query/kernel')).toEqual(ofKey);
    expect(numbers(weights, 'key/kernel')).toEqual(before);
    weights.write(read);
    weights.write(Object.fromEntries(weights.variables.map(({ name, variable }) => [name, variable])));
    expect(numbers(weights, 'query/kernel')).toEqual(before);
    weights.dispose();
  });

  it('are gone once disposed, twice if need be, and say so', () => {
    const before = tf.memory().numTensors;
    const weights = new Weights('Layer', shapes, { seed: 1 });
    expect(tf.memory().numTensors).toBe(before + 3);
    weights.dispose();
    weights.dispose();
    expect(tf.memory().numTensors).toBe(before);
    expect(() => weights.get('query/kernel')).toThrow(/Layer: Layer must not be disposed/);
  });

  it('are counted without being made', () => {
    expect(countParameters(shapes)).toBe(54);
  });
});
