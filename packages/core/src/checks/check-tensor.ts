import * as tf from '@tensorflow/tfjs-core';
import { ShapeError } from '../contract/errors';

/**
 * @param shape letters of each axis, as `[B, Hq, Sq, D]`: as many as its rank must be
 * @param facts what the message shows beside the tensor
 * @throws ShapeError unless it is a living float32 tensor of that rank
 */
export function checkTensor(
  where: string,
  name: string,
  tensor: unknown,
  [shape, facts = {}]: readonly [string, Readonly<Record<string, unknown>>?],
): asserts tensor is tf.Tensor {
  const rank = shape.split(',').length;
  const came = { ...facts, [name]: tensor };
  if (!(tensor instanceof tf.Tensor)) throw new ShapeError(where, `${name} must be a tensor ${shape}`, came);
  if (tensor.isDisposed) throw new ShapeError(where, `${name} must not be disposed`, came);
  if (tensor.rank !== rank) throw new ShapeError(where, `${name} must have rank ${rank}: ${shape}`, came);
  if (tensor.dtype !== 'float32') throw new ShapeError(where, `${name} must be float32`, came);
}
