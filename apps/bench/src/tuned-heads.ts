// The fastest attention one can write by hand with the operations of tfjs's wasm backend: the peer of our kernels.
import * as tf from '@tensorflow/tfjs-core';

/** Keys of the future get a large negative number: [S, S]. */
export function causalBias(S: number): tf.Tensor2D {
  const bias = new Float32Array(S * S);
  for (let i = 0; i < S; i++) bias.fill(-1e9, i * S + i + 1, (i + 1) * S);
  return tf.tensor2d(bias, [S, S]);
}

/**
 * One product of two matrices a head, keys transposed first: the form that the backend multiplies fast.
 *
 * @param query [1, H, S, D]
 * @param bias [S, S], added to scores
 * @returns [1, H, S, D]
 */
export function tunedHeads(
  query: tf.Tensor4D,
  key: tf.Tensor4D,
  value: tf.Tensor4D,
  bias: tf.Tensor2D | undefined,
): tf.Tensor4D {
  const [, H, S, D] = query.shape;
  const scale = 1 / Math.sqrt(D);
  const head = (x: tf.Tensor4D, h: number): tf.Tensor2D =>
    tf.reshape(tf.slice(x, [0, h, 0, 0], [1, 1, -1, -1]), [x.shape[2], x.shape[3]]);
  return tf.tidy(() => {
    const keyColumns: tf.Tensor4D = tf.transpose(key, [0, 1, 3, 2]); // [1, H, D, S]
    const outputs = Array.from({ length: H }, (_, h) => {
      const products: tf.Tensor2D = tf.mul(tf.matMul(head(query, h), head(keyColumns, h)), scale); // [S, S]
      const scores = bias ? tf.add(products, bias) : products;
      return tf.matMul(tf.softmax(scores) as tf.Tensor2D, head(value, h));
    });
    return tf.reshape(tf.stack(outputs), [1, H, S, D]);
  });
}
