import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { differentiable } from './gradient';

const cube = (x: tf.Tensor): tf.Scalar =>
  tf.sum(
    differentiable(
      { inputs: [x] },
      ([y]) => tf.pow(y!, 3),
      (gradient, [y]) => [tf.mul(gradient, tf.mul(3, tf.square(y!)))],
    ),
  );

describe('differentiable', () => {
  it('has the gradient given', () => {
    expect([
      ...tf
        .grad(cube)(tf.tensor1d([1, 2]))
        .dataSync(),
    ]).toEqual([3, 12]);
  });

  it('keeps constants until the gradient has run, and no longer', () => {
    const x = tf.tensor1d([1, 2]);
    const before = tf.memory().numTensors;
    const loss = (input: tf.Tensor): tf.Scalar => {
      const factor = tf.tensor1d([5, 7]); // disposed with the forward pass
      return tf.sum(
        differentiable(
          { inputs: [input], constants: [factor] },
          ([y]) => tf.mul(y!, factor),
          (gradient, _inputs, [kept]) => [tf.mul(gradient, kept!)],
        ),
      );
    };
    const gradient = tf.grad(loss)(x);
    expect([...gradient.dataSync()]).toEqual([5, 7]);
    gradient.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  it('refuses a gradient of a gradient', () => {
    const slope = (x: tf.Tensor): tf.Scalar => tf.sum(tf.grad(cube)(x));
    expect(() => tf.grad(slope)(tf.tensor1d([1, 2]))).toThrow(/a gradient of a gradient is not supported/);
  });
});
