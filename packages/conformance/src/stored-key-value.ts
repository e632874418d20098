// Keys and values at rest in the simplest form: one piece, every row in place.
import type { StoredKeyValue } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';

/**
 * Storage that holds these rows.
 *
 * @param key [B, Hkv, Skv, D]
 * @param value [B, Hkv, Skv, Dv]
 */
export function contiguousStorage(key: tf.Tensor4D, value: tf.Tensor4D): StoredKeyValue {
  const [B, Hkv, Skv, D] = key.shape;
  const Dv = value.shape[3];
  const rows = (x: tf.Tensor4D, size: number) => ({
    data: tf.reshape(x, [B * Hkv * Skv, size]) as tf.Tensor2D,
    first: 0,
    size,
  });
  return {
    heads: Hkv,
    keySize: D,
    valueSize: Dv,
    lengths: Array<number>(B).fill(Skv),
    order: { start: [0] },
    positions: { start: [0] },
    parts: [
      {
        key: rows(key, D),
        value: rows(value, Dv),
        headStride: Skv,
        runs: (b) => Int32Array.of(b * Hkv * Skv, Skv),
      },
    ],
    materialize: () => ({ key: tf.clone(key), value: tf.clone(value) }),
  };
}
