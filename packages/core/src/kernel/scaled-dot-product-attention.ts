// Attention in one call, without a layer: for teaching and quick use.
import * as tf from '@tensorflow/tfjs-core';
import { cleanTidy } from '../backend/clean-tidy';
import { checkReturns } from '../checks/check-options';
import { checkTensor } from '../checks/check-tensor';
import { composed } from '../composed/composed';
import { ConfigError, ShapeError } from '../contract/errors';
import type { AttendOptions } from '../contract/kernel';
import { attendAs } from './attend';

const where = 'scaledDotProductAttention';

/** What `scaledDotProductAttention` gives, with the rank of its inputs. */
export type AttentionAndWeights<T extends tf.Tensor3D | tf.Tensor4D> = {
  /** [B, Sq, Dv], or [B, H, Sq, Dv] */
  readonly output: T;
  /** [B, Sq, Skv], or [B, H, Sq, Skv] */
  readonly weights: T;
};

/**
 * `softmax(Q K^T / sqrt(D)) V` and its weights (Vaswani et al. 2017, 1706.03762). Rows that see no key give zeros.
 *
 * @param query [B, Sq, D], or with heads [B, Hq, Sq, D]
 * @param key [B, Skv, D], or [B, Hkv, Skv, D]
 * @param value [B, Skv, Dv], or [B, Hkv, Skv, Dv]
 * @throws ShapeError, ConfigError as `attend` does
 * @example
 * const { output, weights } = scaledDotProductAttention(query, key, value, { mask: causal() });
 */
export function scaledDotProductAttention<T extends tf.Tensor3D | tf.Tensor4D>(
  query: T,
  key: T,
  value: T,
  options: Omit<AttendOptions, 'returns'> = {},
): AttentionAndWeights<T> {
  if (!(query instanceof tf.Tensor)) throw new ShapeError(where, 'query must be a tensor', { query });
  if (typeof (options ?? {}) !== 'object')
    throw new ConfigError(where, 'options must be an object', { options });
  const { returns } = (options ?? {}) as AttendOptions;
  if (returns !== undefined) checkReturns(where, returns, ['weights']);
  return cleanTidy(() => {
    const withHeads = (name: string, x: tf.Tensor): tf.Tensor4D => {
      if (query.rank === 4) return x as tf.Tensor4D;
      checkTensor(where, name, x, ['[B, S, D]', { query, key, value }]);
      return tf.expandDims(x, 1);
    };
    const inputs = {
      query: withHeads('query', query),
      key: withHeads('key', key),
      value: withHeads('value', value),
    };
    const { output, weights } = attendAs(where, composed(), inputs, { ...options, returns: ['weights'] });
    const inRankOfQuery = (x: tf.Tensor4D) => (query.rank === 4 ? x : tf.squeeze(x, [1])) as T;
    return { output: inRankOfQuery(output), weights: inRankOfQuery(weights!) };
  });
}
