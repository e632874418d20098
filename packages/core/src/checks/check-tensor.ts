import * as tf from '@tensorflow/tfjs-core';
import { ShapeError } from '../contract/errors';
import type { NamedTensors } from '../contract/kernel';

type Facts = object;

/**
 * Judges a tensor by its rank and type.
 *
 * @param expected letters of each axis, as `[B, Hq, Sq, D]`, as many as its rank must be; what the message shows in addition
 *   to the tensor, or what makes that, asked only then; and its type, by default float32
 * @throws ShapeError unless it is a living tensor of that rank and type
 */
export function checkTensor(
  where: string,
  name: string,
  tensor: unknown,
  [shape, facts, dtype = 'float32']: readonly [string, (Facts | (() => Facts))?, tf.DataType?],
): asserts tensor is tf.Tensor {
  const rank = rankOf(shape);
  const isFine = tensor instanceof tf.Tensor && !tensor.isDisposed && tensor.rank === rank;
  if (isFine && tensor.dtype === dtype) return;
  const came = { ...(typeof facts === 'function' ? facts() : facts), [name]: tensor };
  if (!(tensor instanceof tf.Tensor)) throw new ShapeError(where, `${name} must be a tensor ${shape}`, came);
  if (tensor.isDisposed) throw new ShapeError(where, `${name} must not be disposed`, came);
  if (tensor.rank !== rank) throw new ShapeError(where, `${name} must have rank ${rank}: ${shape}`, came);
  throw new ShapeError(where, `${name} must be ${dtype}`, came);
}

const ranks = new Map<string, number>();

/** How many axes the letters name, counted once: a token's calls ask a dozen times. */
function rankOf(shape: string): number {
  const known = ranks.get(shape);
  if (known !== undefined) return known;
  const rank = shape.split(',').length;
  ranks.set(shape, rank);
  return rank;
}

/** @throws ShapeError unless they are living float32 tensors by name, of any rank */
export function checkTensors(where: string, name: string, tensors: NamedTensors): void {
  if (typeof tensors !== 'object' || tensors === null || Array.isArray(tensors))
    throw new ShapeError(where, `${name} must be tensors by name`, { [name]: tensors });
  for (const [key, tensor] of Object.entries(tensors)) {
    const isLiving = tensor instanceof tf.Tensor && !tensor.isDisposed && tensor.dtype === 'float32';
    if (!isLiving) {
      throw new ShapeError(where, `${name}.${key} must be a float32 tensor that is not disposed`, {
        [key]: tensor,
      });
    }
  }
}
