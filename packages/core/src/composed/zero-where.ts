import * as tf from '@tensorflow/tfjs-core';
import { hasSynchronousRead } from '../backend/traits';

/** 0 where true, -Infinity where false. */
export function zeroWhere(condition: tf.Tensor): tf.Tensor4D {
  // Log of 1 and 0: `where` is ten times slower on wasm. On a device log of 0 may be any large negative number.
  if (hasSynchronousRead()) return tf.log(tf.cast(condition, 'float32')) as tf.Tensor4D;
  return tf.where(tf.notEqual(condition, 0), 0, -Infinity) as tf.Tensor4D;
}
