// The linear maps between embeddings and heads.
import * as tf from '@tensorflow/tfjs-core';
import { differentiable } from './gradient';
import { times, timesTransposed, transposedTimes } from './multiply';

/**
 * `x kernel + bias`, as one product of two matrices.
 *
 * @param x [B, S, in]
 * @param kernel [in, out]
 * @param bias [out]
 * @returns [B, S, out]
 */
export function project(x: tf.Tensor3D, kernel: tf.Tensor, bias?: tf.Tensor): tf.Tensor3D {
  return tf.tidy(() => {
    const [B, S, inDim] = x.shape;
    const outDim = kernel.shape[1]!;
    if (x.size === 0) return tf.zeros([B, S, outDim]);
    const rows = tf.reshape(x, [1, 1, B * S, inDim]);
    const matrix = tf.reshape(kernel, [1, 1, inDim, outDim]);
    const product = differentiable(
      { inputs: [rows, matrix] },
      ([r, m]) => times(r as tf.Tensor4D, m as tf.Tensor4D),
      (gradient, [r, m]) => [
        timesTransposed(gradient, m as tf.Tensor4D),
        transposedTimes(r as tf.Tensor4D, gradient, 1),
      ],
    );
    const projected: tf.Tensor3D = tf.reshape(product, [B, S, outDim]);
    return bias ? tf.add(projected, bias) : projected;
  });
}
