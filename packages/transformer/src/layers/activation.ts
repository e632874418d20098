// The functions between the two linear maps of a feed-forward layer.
import * as tf from '@tensorflow/tfjs-core';

/** Its name in configs. `gelu` is x Φ(x) (Hendrycks and Gimpel 2016, 1606.08415), `geluTanh` its approximation by tanh. */
export type Activation = 'relu' | 'gelu' | 'geluTanh' | 'silu';

const root = 0.7978845608028654; // sqrt(2 / π)

/** The functions by name: float32 of any shape to the same shape. */
export const activations: Readonly<Record<Activation, (x: tf.Tensor) => tf.Tensor>> = {
  relu: (x) => tf.relu(x),
  // x (1 + erf(x / sqrt(2))) / 2
  gelu: (x) => tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1)),
  // x (1 + tanh(sqrt(2 / π) (x + 0.044715 x³))) / 2
  geluTanh: (x) => {
    const inner = tf.mul(tf.mul(x, root), tf.add(tf.mul(tf.square(x), 0.044715), 1));
    return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(inner), 1));
  },
  // x σ(x), also called swish
  silu: (x) => tf.mul(x, tf.sigmoid(x)),
};
