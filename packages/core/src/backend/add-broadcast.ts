import * as tf from '@tensorflow/tfjs-core';
import { differentiable } from '../kernel/gradient';

/**
 * x + y, each broadcast to the other. Where the sum is empty, gradients are 0: tfjs's own throw there, or are memory that
 * nobody has written.
 */
export function addBroadcast<T extends tf.Tensor>(x: T, y: tf.Tensor): T {
  const shape = tf.broadcast_util.assertAndGetBroadcastShape(x.shape, y.shape);
  if (!shape.includes(0)) return tf.add<T>(x, y);
  return differentiable<T>(
    { inputs: [x, y] },
    () => tf.zeros(shape) as T,
    (_gradient, inputs) => inputs.map((input) => tf.zerosLike(input)),
  );
}
