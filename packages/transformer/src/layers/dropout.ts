// Numbers dropped in training (Srivastava et al. 2014).
import { seedOf } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';

/** Switches dropout on: numbers are drawn from this seed. */
export interface Training {
  /** Another one for each step of training. */
  readonly seed: number;
}

/** The training of a part, whose numbers are other ones than those of the parts beside it. */
export function trainingOf(training: Training | undefined, name: string): Training | undefined {
  return training && { seed: seedOf(training.seed, name) };
}

/** x, in training with a share `rate` of its numbers 0 and the others divided by 1 - rate. */
export function dropout<T extends tf.Tensor>(x: T, rate: number, training: Training | undefined): T {
  if (!training || rate === 0) return x;
  return tf.dropout(x, rate, undefined, training.seed) as T;
}
