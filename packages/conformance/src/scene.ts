// Inputs small enough to know the answer by heart.
import * as tf from '@tensorflow/tfjs-core';
import { expect } from 'vitest';
import { toHost } from './kernel-run';

export type Scene = { readonly query: tf.Tensor4D; readonly key: tf.Tensor4D; readonly value: tf.Tensor4D };

/** One batch entry, one head, all scores 0: every visible key has the same weight. Values are numbers, one a key. */
export function zeroScores(queries: number, values: readonly number[]): Scene {
  return {
    query: tf.zeros([1, 1, queries, 1]),
    key: tf.zeros([1, 1, values.length, 1]),
    value: tf.tensor4d([...values], [1, 1, values.length, 1]),
  };
}

/** The same with these scores before scale, a row for each query: keys are unit vectors, queries the rows. Use scale 1. */
export function withScores(scores: readonly (readonly number[])[], values: readonly number[]): Scene {
  const [Sq, Skv] = [scores.length, values.length];
  return {
    query: tf.tensor4d(scores.flat(), [1, 1, Sq, Skv]),
    key: tf.reshape(tf.eye(Skv), [1, 1, Skv, Skv]),
    value: tf.tensor4d([...values], [1, 1, Skv, 1]),
  };
}

/** The numbers of a tensor, in order. */
export const numbersOf = (tensor: tf.Tensor) => [...toHost(tensor)];

/** Throws unless the numbers of a tensor are these, to five digits behind the point. */
export function expectNumbers(tensor: tf.Tensor, expected: readonly number[]): void {
  expect(numbersOf(tensor)).toEqual(expected.map((x) => (Number.isFinite(x) ? expect.closeTo(x, 5) : x)));
}
