// Splitting an embedding into heads and back.
import * as tf from '@tensorflow/tfjs-core';
import { ShapeError } from '../contract/errors';

/**
 * Head h owns the contiguous channels [h D, (h + 1) D).
 *
 * @param x [B, S, H * D]
 * @returns [B, H, S, D]
 * @throws ShapeError where the width is not a multiple of the number of heads
 */
export function splitHeads(x: tf.Tensor3D, numHeads: number): tf.Tensor4D {
  const [B, S, width] = x.shape;
  if (width % numHeads !== 0) {
    throw new ShapeError('splitHeads', 'the width must be a multiple of the number of heads', {
      x,
      numHeads,
    });
  }
  return tf.tidy(() => swapped(tf.reshape(x, [B, S, numHeads, width / numHeads])));
}

/**
 * The inverse of `splitHeads`.
 *
 * @param heads [B, H, S, D]
 * @returns [B, S, H * D]
 */
export function mergeHeads(heads: tf.Tensor4D): tf.Tensor3D {
  const [B, H, S, D] = heads.shape;
  return tf.tidy(() => tf.reshape(swapped(heads), [B, S, H * D]));
}

/**
 * The other layout of the field, [B, S, H, D], as [B, H, S, D].
 *
 * @param x [B, S, H, D]
 */
export function fromSequenceMajor(x: tf.Tensor4D): tf.Tensor4D {
  return swapped(x);
}

/** [A, B, C, D] as [A, C, B, D]. wasm cannot transpose what holds nothing. */
function swapped(x: tf.Tensor4D): tf.Tensor4D {
  const [a, b, c, d] = x.shape;
  return x.size === 0 ? tf.reshape(x, [a, c, b, d]) : tf.transpose(x, [0, 2, 1, 3]);
}
