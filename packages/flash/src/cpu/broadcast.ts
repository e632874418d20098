// Numbers that stand for [B, Hq, Sq, Skv], axes of size 1 serving every place.
import type * as tf from '@tensorflow/tfjs-core';

export interface Broadcast {
  readonly numbers: ArrayLike<number>;
  /** Where the numbers of a query row begin. */
  rowAt(b: number, h: number, i: number): number;
  /** From one key to the next: 0 where all share one number. */
  readonly perKey: 0 | 1;
}

export function broadcast(tensor: tf.Tensor4D): Broadcast {
  const [B, H, S, K] = tensor.shape;
  return {
    numbers: tensor.dataSync(),
    rowAt: (b, h, i) => (((B === 1 ? 0 : b) * H + (H === 1 ? 0 : h)) * S + (S === 1 ? 0 : i)) * K,
    perKey: K === 1 ? 0 : 1,
  };
}
