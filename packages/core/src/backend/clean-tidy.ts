import * as tf from '@tensorflow/tfjs-core';
import { explainMissingOp } from './explain-missing-op';

/**
 * `tf.tidy`, which also leaves nothing on the tape of a gradient when `f` throws: what the operations before the error
 * saved for their own gradients would otherwise stay for ever.
 */
export function cleanTidy<T extends tf.TensorContainer>(f: () => T): T {
  const { state } = tf.engine();
  const recorded = state.activeTape?.length ?? 0;
  try {
    return tf.tidy(f);
  } catch (error) {
    for (const { saved } of state.activeTape?.splice(recorded) ?? []) tf.dispose(saved);
    throw explainMissingOp(error);
  }
}
