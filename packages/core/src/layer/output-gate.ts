// A gate on what the heads give, before the output projection.
import * as tf from '@tensorflow/tfjs-core';
import { zeroRowsWithoutGradient } from '../backend/rows-without-gradient';
import { differentiable } from '../kernel/gradient';

/**
 * heads · sigmoid(gate). Rows without a gradient, which may be padding of any number, give none.
 *
 * @param heads [B, H, Sq, Dv]
 * @param gate [B, H, Sq, Dv | 1]
 * @returns [B, H, Sq, Dv]
 */
export function gated(heads: tf.Tensor4D, gate: tf.Tensor4D): tf.Tensor4D {
  return differentiable<tf.Tensor4D>(
    { inputs: [heads, gate] },
    ([x, g]) => tf.mul(x!, tf.sigmoid(g!)),
    (gradient, [x, g]) => {
      const open = tf.sigmoid(zeroRowsWithoutGradient(g!, gradient)); // [B, H, Sq, Dv | 1]
      const ofOpen = tf.mul(gradient, zeroRowsWithoutGradient(x!, gradient)); // [B, H, Sq, Dv]
      const shared = gate.shape[3] === heads.shape[3] ? ofOpen : tf.sum(ofOpen, 3, true);
      return [tf.mul(gradient, open), tf.mul(shared, tf.mul(open, tf.sub(1, open)))];
    },
  );
}
