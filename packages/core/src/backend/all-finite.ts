import * as tf from '@tensorflow/tfjs-core';
import { backendTraits } from './traits';

/** True where x is known to hold neither NaN nor Infinity; false, too, where reading it would wait for a device. */
export function allFinite(x: tf.Tensor): boolean {
  return isKnownFinite(x, () => tf.sum(tf.mul(x, 0))); // 0 * NaN and 0 * Infinity are NaN
}

/** As `allFinite`; and no product of two rows that are known to be so can overflow (Cauchy and Schwarz). */
export function allBounded(x: tf.Tensor): boolean {
  return isKnownFinite(x, () => tf.sum(tf.square(x)));
}

function isKnownFinite(x: tf.Tensor, measure: () => tf.Tensor): boolean {
  if (x.size === 0) return true;
  if (!backendTraits().synchronousRead) return false;
  return tf.tidy(() => Number.isFinite(measure().dataSync()[0]));
}
