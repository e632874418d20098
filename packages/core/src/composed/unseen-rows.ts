// Rows that take no part in a call may hold anything, NaN and Infinity too: padding, free slots of a cache. Since
// 0 * NaN is NaN, a weight of 0 does not keep them out of a product; they are replaced by zeros before it.
import * as tf from '@tensorflow/tfjs-core';
import type { MaskPlan } from '../mask';
import { readsAtOnce } from '../reads-at-once';

interface Heads {
  readonly query: tf.Tensor4D; // [B, Hq, Sq, D]
  readonly key: tf.Tensor4D; // [B, Hkv, Skv, D]
  readonly value: tf.Tensor4D; // [B, Hkv, Skv, Dv]
  readonly bias?: tf.Tensor4D;
  readonly tableKeysQuery?: tf.Tensor4D; // [B, Hq, Sq, D]
}

/**
 * The same heads with zeros in place of keys and values that no query of their batch entry sees, and of queries that
 * see nothing. Untouched where no such row can hold anything but finite numbers.
 */
export function withoutUnseenRows(
  heads: Heads,
  { plan, biasIsFinite }: { plan: MaskPlan; biasIsFinite: boolean },
): Omit<Heads, 'bias'> {
  const { query, key, value, bias, tableKeysQuery } = heads;
  const mayHide = !plan.full || !biasIsFinite;
  if (!mayHide || key.size === 0 || query.size === 0) return heads;
  if ([query, key, value, tableKeysQuery ?? query].every(allFinite)) return heads;
  return tf.tidy(() => {
    const pairs = visiblePairs(plan, key.shape[2], biasIsFinite ? undefined : bias);
    const [B, H, Sq, Skv] = pairs.shape;
    const seenKeys = tf.reshape(tf.any(pairs, [1, 2]), [B, 1, Skv, 1]);
    const seeingQueries = tf.reshape(tf.any(pairs, 3), [B, H, Sq, 1]);
    return {
      query: zeroUnless(seeingQueries, query),
      key: zeroUnless(seenKeys, key),
      value: zeroUnless(seenKeys, value),
      ...(tableKeysQuery && { tableKeysQuery: zeroUnless(seeingQueries, tableKeysQuery) }),
    };
  });
}

/** Which pairs are visible, as a tensor: [1 | B, 1 | Hq, Sq, Skv] bool. */
function visiblePairs(plan: MaskPlan, Skv: number, bias: tf.Tensor4D | undefined): tf.Tensor4D {
  const masks: tf.Tensor[] = [pairsOfSpans(plan, Skv), ...plan.dense.map(isTrue)];
  if (bias) masks.push(tf.notEqual(bias, -Infinity));
  return masks.reduce((all, mask) => tf.logicalAnd(all, mask)) as tf.Tensor4D;
}

function pairsOfSpans(plan: MaskPlan, Skv: number): tf.Tensor4D {
  const [B, H, Sq, width] = plan.shape;
  const visible = new Uint8Array(B * H * Sq * Skv);
  for (let row = 0; row < B * H * Sq; row++) {
    for (let n = 0; n < width; n++) {
      const i = (row * width + n) * 2;
      visible.fill(1, row * Skv + plan.spans[i]!, row * Skv + plan.spans[i + 1]!);
    }
  }
  return tf.tensor4d(visible, [B, H, Sq, Skv], 'bool');
}

/** Bool of 0 and 1 only: on wasm a cast to bool keeps any number. */
export function isTrue(mask: tf.Tensor): tf.Tensor {
  return tf.notEqual(tf.cast(mask, 'int32'), 0);
}

function zeroUnless(condition: tf.Tensor, x: tf.Tensor4D): tf.Tensor4D {
  return tf.where(condition, x, tf.zerosLike(x));
}

/** True where x is known to hold neither NaN nor Infinity; false, too, where reading it would wait for a device. */
export function allFinite(x: tf.Tensor): boolean {
  if (x.size === 0) return true;
  if (!readsAtOnce()) return false;
  return tf.tidy(() => tf.sum(tf.mul(x, 0)).dataSync()[0] === 0); // 0 * NaN and 0 * Infinity are NaN
}
