import type * as tf from '@tensorflow/tfjs-core';
import { checkTensor } from '../checks/check-tensor';
import { ShapeError } from '../contract/errors';
import type { StoredKeyValue } from '../contract/key-value-cache';

/**
 * The keys [B, Hkv, S, D] and values [B, Hkv, S, Dv] that a storage gives, for kernels that do not read its rows as they
 * lie.
 *
 * @throws ShapeError where they are not as the storage has said
 */
export function materialized(
  where: string,
  stored: StoredKeyValue,
): { readonly key: tf.Tensor4D; readonly value: tf.Tensor4D } {
  const rows = stored.materialize();
  const { heads, keySize, valueSize, lengths } = stored;
  const wanted = [lengths.length, heads, Math.max(0, ...lengths)];
  for (const [name, size] of [
    ['key', keySize],
    ['value', valueSize],
  ] as const) {
    const shape = [...wanted, size];
    checkTensor(where, `the materialized ${name}`, rows[name], ['[B, Hkv, S, D]']);
    if (`${rows[name].shape}` === `${shape}`) continue;
    throw new ShapeError(where, `the materialized ${name} must have the sizes of the storage`, {
      [name]: rows[name],
      'sizes of the storage': shape,
    });
  }
  return rows;
}
