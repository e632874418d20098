// Operations that some devices compute wrongly, computed so that each is right: `traits.ts` says which are wrong where.
import * as tf from '@tensorflow/tfjs-core';
import { constant } from './host-loop';
import { backendTraits } from './traits';

/** The sum of tensors of one shape. */
export function addAll<T extends tf.Tensor>(tensors: readonly T[]): T {
  const { maxAddends } = backendTraits();
  if (tensors.length <= maxAddends) return tf.addN([...tensors]);
  return addAll([tf.addN(tensors.slice(0, maxAddends)), ...tensors.slice(maxAddends)]);
}

/** 0 where true, -Infinity where false: a mask as a number to add. */
export function zeroWhere(condition: tf.Tensor): tf.Tensor4D {
  // The logarithms of 1 and 0: `where` is ten times slower on wasm.
  if (backendTraits().exactLog) return tf.log(tf.cast(condition, 'float32')) as tf.Tensor4D;
  return tf.where(tf.notEqual(condition, 0), 0, constant(-Infinity)) as tf.Tensor4D;
}

/** The largest of each row's terms, of which only -Infinity counts: -Infinity for rows of nothing else, else finite. */
export function largestOfRows(terms: tf.Tensor4D): tf.Tensor4D {
  if (backendTraits().exactMax) return tf.max(terms, 3, true);
  return zeroWhere(tf.max(tf.cast(tf.notEqual(terms, constant(-Infinity)), 'float32'), 3, true));
}

/** Logits that the device can tell from each other and from -Infinity. */
export function representable(logits: tf.Tensor4D): tf.Tensor4D {
  const { smallestLogit } = backendTraits();
  if (smallestLogit === -Infinity) return logits;
  const hidden = constant(-Infinity);
  return tf.where(tf.equal(logits, hidden), hidden, tf.maximum(logits, smallestLogit)) as tf.Tensor4D;
}

// x - x³/3 + 2x⁵/15 - ...: within 1e-8 of tanh(x) / x where |x| < 1/4
const series = [62 / 2835, -17 / 315, 2 / 15, -1 / 3, 1];

/** tanh, right to a part of itself: a softcap may be far above its scores. */
export function preciseTanh<T extends tf.Tensor>(x: T): T {
  if (backendTraits().exactTanh) return tf.tanh(x);
  const square = tf.square(x);
  const ratio = series.reduce<tf.Tensor>((sum, term) => tf.add(tf.mul(sum, square), term), tf.scalar(0));
  return tf.where(tf.less(square, 1 / 16), tf.mul(x, ratio), tf.tanh(x));
}
