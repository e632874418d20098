// The fastest attention one can write by hand with the operations of tfjs's wasm backend: the peer of our kernels.
import * as tf from '@tensorflow/tfjs-core';

export interface Heads {
  readonly query: tf.Tensor4D; // [1, Hq, Sq, D]
  readonly key: tf.Tensor4D; // [1, Hkv, Skv, D]
  readonly value: tf.Tensor4D; // [1, Hkv, Skv, D]
}

/** Keys of the future get a large negative number: [S, S]. */
export function causalBias(S: number): tf.Tensor2D {
  const bias = new Float32Array(S * S);
  for (let i = 0; i < S; i++) bias.fill(-1e9, i * S + i + 1, (i + 1) * S);
  return tf.tensor2d(bias, [S, S]);
}

/**
 * For many query rows: one product of two matrices a head, keys scaled and transposed first, which is the form that the
 * backend multiplies fast.
 *
 * @param bias [Sq, Skv], added to scores
 * @returns [1, Hq, Sq, D]
 */
export function tunedHeads({ query, key, value }: Heads, bias: tf.Tensor2D | undefined): tf.Tensor4D {
  const [, Hq, Sq, D] = query.shape;
  const Hkv = key.shape[1];
  return tf.tidy(() => {
    const queries = matricesOf(query);
    const keyColumns = matricesOf(tf.transpose(tf.mul(key, 1 / Math.sqrt(D)), [0, 1, 3, 2])); // [D, Skv] each
    const values = matricesOf(value);
    const outputs = queries.map((rows, h) =>
      tf.tidy(() => {
        const group = Math.floor((h * Hkv) / Hq);
        const products: tf.Tensor2D = tf.matMul(rows, keyColumns[group]!); // [Sq, Skv]
        const scores: tf.Tensor2D = bias ? tf.add(products, bias) : products;
        return tf.matMul(tf.softmax(scores), values[group]!); // [Sq, D]
      }),
    );
    return tf.reshape(tf.stack(outputs), [1, Hq, Sq, D]);
  });
}

/** For one query row, keys and values as they come: the query heads of a group are the rows of one product. */
export function batchedStep({ query, key, value }: Heads): tf.Tensor4D {
  const [, Hq, , D] = query.shape;
  const Hkv = key.shape[1];
  return tf.tidy(() => {
    const rows = tf.mul(tf.reshape(query, [1, Hkv, Hq / Hkv, D]), 1 / Math.sqrt(D));
    const weights = tf.softmax(tf.matMul(rows, key, false, true)); // [1, Hkv, G, Skv]
    return tf.reshape(tf.matMul(weights, value), [1, Hq, 1, D]);
  });
}

/** Keys and values of each head kept as a matrix of its own, values with a column a token. */
export interface SplitHeads {
  readonly keys: readonly tf.Tensor2D[]; // Hkv times [Skv, D]
  readonly valueColumns: readonly tf.Tensor2D[]; // Hkv times [D, Skv]
}

export function splitHeads(key: tf.Tensor4D, value: tf.Tensor4D): SplitHeads {
  return tf.tidy(() => ({
    keys: matricesOf(key),
    valueColumns: matricesOf(tf.transpose(value, [0, 1, 3, 2])),
  }));
}

/** For one query row: the wide matrices stand on the left, where the backend does not repack them. */
export function splitStep(query: tf.Tensor4D, { keys, valueColumns }: SplitHeads): tf.Tensor4D {
  const [, Hq, , D] = query.shape;
  const Hkv = keys.length;
  return tf.tidy(() => {
    const scaled: tf.Tensor4D = tf.mul(tf.reshape(query, [1, Hkv, Hq / Hkv, D]), 1 / Math.sqrt(D));
    const queryColumns = matricesOf(tf.transpose(scaled, [0, 1, 3, 2])); // [D, G] each
    const outputs = queryColumns.map((columns, h) => {
      const weights = tf.softmax(tf.transpose(tf.matMul(keys[h]!, columns))); // [G, Skv]
      return tf.transpose(tf.matMul(valueColumns[h]!, tf.transpose(weights))); // [G, D]
    });
    return tf.reshape(tf.stack(outputs), [1, Hq, 1, D]);
  });
}

/** What tfjs derives: the gradients by query, key and value for that of the output. */
export function gradientsOf(
  output: (query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D) => tf.Tensor4D,
  { query, key, value, outputGradient }: Heads & { readonly outputGradient: tf.Tensor4D },
): tf.Tensor[] {
  const gradient = tf.grads((q, k, v) => output(q as tf.Tensor4D, k as tf.Tensor4D, v as tf.Tensor4D));
  return gradient([query, key, value], outputGradient);
}

/** A matrix for each head: [1, H, R, C] to H times [R, C]. */
function matricesOf(x: tf.Tensor4D): tf.Tensor2D[] {
  const [, H, R, C] = x.shape;
  return tf.unstack(tf.reshape(x, [H, R, C])) as tf.Tensor2D[];
}
