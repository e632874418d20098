// The linear maps between embeddings and heads.
import * as tf from '@tensorflow/tfjs-core';
import { addBroadcast } from '../backend/add-broadcast';
import { times, timesTransposed, transposedTimes } from '../backend/multiply';
import { checkTensor } from '../checks/check-tensor';
import { ShapeError } from '../contract/errors';
import { differentiable } from '../kernel/gradient';
import { zeroRowsWithoutGradient } from './rows-without-gradient';

/**
 * `x kernel + bias`, as one product of two matrices.
 *
 * @param x [B, S, in]
 * @param kernel [in, out]
 * @param bias [out]
 * @returns [B, S, out]
 * @throws ShapeError where the shapes do not fit
 */
export function project(x: tf.Tensor, kernel: tf.Tensor, bias?: tf.Tensor): tf.Tensor3D {
  checkTensor('project', 'x', x, ['[B, S, in]', { x, kernel }]);
  checkTensor('project', 'kernel', kernel, ['[in, out]', { x, kernel }]);
  const [B, S, inDim] = x.shape as [number, number, number];
  const outDim = kernel.shape[1]!;
  const fits = kernel.shape[0] === inDim && (bias === undefined || `${bias.shape}` === `${outDim}`);
  if (!fits) throw new ShapeError('project', 'kernel must be [in, out], and bias [out]', { x, kernel, bias });
  return tf.tidy(() => {
    const rows = tf.reshape(x, [1, 1, B * S, inDim]);
    const matrix = tf.reshape(kernel, [1, 1, inDim, outDim]);
    const product = differentiable(
      { inputs: [rows, matrix] },
      ([r, m]) => productOf(r as tf.Tensor4D, m as tf.Tensor4D),
      (gradient, [r, m]) => productGradient(gradient, r as tf.Tensor4D, m as tf.Tensor4D),
    );
    const projected: tf.Tensor3D = tf.reshape(product, [B, S, outDim]);
    return bias ? addBroadcast(projected, bias) : projected;
  });
}

function productOf(rows: tf.Tensor4D, matrix: tf.Tensor4D): tf.Tensor4D {
  return rows.size === 0 ? tf.zeros([1, 1, rows.shape[2], matrix.shape[3]]) : times(rows, matrix);
}

function productGradient(gradient: tf.Tensor4D, rows: tf.Tensor4D, matrix: tf.Tensor4D): tf.Tensor4D[] {
  if (rows.size === 0) return [tf.zerosLike(rows), tf.zerosLike(matrix)];
  const active = zeroRowsWithoutGradient(rows, gradient);
  return [timesTransposed(gradient, matrix), transposedTimes(active, gradient, 1)];
}
