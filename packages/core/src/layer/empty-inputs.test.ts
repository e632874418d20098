import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { project } from '../products/project';
import { normalize } from './normalize';
import { gated } from './output-gate';

/** Fills memory that is freed at once: what is never written shows. */
const scribble = () => tf.tidy(() => void [1, 4, 8, 16].map((n) => tf.fill([n], 7)));

const gradientsOf = (f: (...x: tf.Tensor[]) => tf.Tensor, inputs: tf.Tensor[]) => {
  scribble();
  return tf
    .grads((...x) => tf.sum(f(...x)))(inputs)
    .map((gradient) => [...gradient.dataSync()]);
};

describe.each([
  [0, 3],
  [2, 0],
])('a batch of %d entries of %d tokens', (B, S) => {
  it('gives gradients of 0 for a matrix and its bias', () => {
    const gradients = gradientsOf(
      (x, kernel, bias) => project(x as tf.Tensor3D, kernel!, bias),
      [tf.zeros([B, S, 4]), tf.ones([4, 2]), tf.ones([2])],
    );
    expect(gradients).toEqual([[], Array(8).fill(0), [0, 0]]);
  });

  it('gives gradients of 0 for the gain and offset of a norm', () => {
    const gradients = gradientsOf(
      (x, gain, offset) => normalize(x!, { kind: 'layer' }, { gain, offset }),
      [tf.zeros([B, 2, S, 4]), tf.ones([4]), tf.ones([4])],
    );
    expect(gradients).toEqual([[], [0, 0, 0, 0], [0, 0, 0, 0]]);
  });

  it('goes through a gate', () => {
    const gradients = gradientsOf(
      (heads, gate) => gated(heads as tf.Tensor4D, gate as tf.Tensor4D),
      [tf.zeros([B, 2, S, 4]), tf.zeros([B, 2, S, 1])],
    );
    expect(gradients).toEqual([[], []]);
  });
});
