// Rows that take no part in a call may hold anything, NaN and Infinity too: padding, free slots of a cache. Since
// 0 * NaN is NaN, a weight of 0 does not keep them out of a product; they are replaced by zeros before it.
import * as tf from '@tensorflow/tfjs-core';
import { allBounded } from '../all-finite';
import type { MaskPlan } from '../mask';

interface Heads {
  readonly query: tf.Tensor4D; // [B, Hq, Sq, D]
  readonly key: tf.Tensor4D; // [B, Hkv, Skv, D]
  readonly value: tf.Tensor4D; // [B, Hkv, Skv, Dv]
  readonly tableKeysQuery?: tf.Tensor4D; // [B, Hq, Sq, D]
}

/**
 * The same heads with zeros in place of keys and values that no query of theirs sees, and of queries that see nothing.
 * Untouched where no such row can do harm.
 *
 * @param biases those that may hide a pair by -Infinity; asked for only where they are needed
 */
export function withoutUnseenRows(
  { query, key, value, tableKeysQuery }: Heads,
  { plan, biases }: { readonly plan: MaskPlan; readonly biases: () => readonly tf.Tensor4D[] },
): Heads {
  const heads = { query, key, value, ...(tableKeysQuery && { tableKeysQuery }) };
  if (key.size === 0 || query.size === 0 || Object.values(heads).every(allBounded)) return heads;
  return tf.tidy(() => {
    const pairs = visiblePairs(plan, key.shape[2], biases());
    const seenKeys = seenByGroups(pairs, key.shape[1]);
    const seeingQueries = tf.expandDims(tf.any(pairs, 3), 3); // [1 | B, 1 | Hq, Sq, 1]
    return {
      query: zeroUnless(seeingQueries, query),
      key: zeroUnless(seenKeys, key),
      value: zeroUnless(seenKeys, value),
      ...(tableKeysQuery && { tableKeysQuery: zeroUnless(seeingQueries, tableKeysQuery) }),
    };
  });
}

/** Which pairs are visible, as a tensor: [1 | B, 1 | Hq, Sq, Skv] bool. */
function visiblePairs(plan: MaskPlan, Skv: number, biases: readonly tf.Tensor4D[]): tf.Tensor4D {
  const masks: tf.Tensor[] = [
    pairsOfSpans(plan, Skv),
    ...plan.dense.map(isTrue),
    ...biases.map((bias) => tf.notEqual(bias, -Infinity)),
  ];
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

/** Keys that some query of their group sees: [1 | B, 1 | Hkv, Skv, 1]. */
function seenByGroups(pairs: tf.Tensor4D, Hkv: number): tf.Tensor {
  const [B, H, Sq, Skv] = pairs.shape;
  const groups = H === 1 ? 1 : Hkv;
  const seen = tf.any(tf.reshape(pairs, [B, groups, (H / groups) * Sq, Skv]), 2);
  return tf.expandDims(seen, 3);
}

/** Bool of 0 and 1 only: on wasm a cast to bool keeps any number. */
export function isTrue(mask: tf.Tensor): tf.Tensor {
  return tf.notEqual(tf.cast(mask, 'int32'), 0);
}

function zeroUnless(condition: tf.Tensor, x: tf.Tensor4D): tf.Tensor4D {
  return tf.where(condition, x, tf.zerosLike(x));
}
