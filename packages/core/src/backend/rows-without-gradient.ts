// Rows without a gradient may hold anything, NaN and Infinity too: padding. Since 0 * NaN is NaN they are replaced by
// zeros before a product of rows and gradients.
import * as tf from '@tensorflow/tfjs-core';
import { allBounded } from './finite';

/**
 * x with zeros in place of the rows whose gradient is 0 throughout; x itself where no row can do harm.
 *
 * @param x [..., N]
 * @param gradient [..., M], with the rows of x
 */
export function zeroRowsWithoutGradient<T extends tf.Tensor>(x: T, gradient: tf.Tensor): T {
  if (allBounded(x)) return x;
  return tf.tidy(() => {
    const active = tf.any(tf.notEqual(gradient, 0), -1, true);
    return tf.where(active, x, tf.zerosLike(x));
  });
}
