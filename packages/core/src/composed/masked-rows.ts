// Rows that take no part in a call may hold anything, NaN and Infinity too: padding, free slots of a cache. Since
// 0 * NaN is NaN, a weight of 0 does not keep them out of a product; they are replaced by zeros before it.
import * as tf from '@tensorflow/tfjs-core';
import { constant, writeTensor } from '../backend/host-loop';
import type { MaskPlan } from '../contract/mask';

/** Rows of a call. */
export interface Heads {
  readonly query: tf.Tensor4D; // [B, Hq, Sq, D]
  readonly key: tf.Tensor4D; // [B, Hkv, Skv, D]
  readonly value: tf.Tensor4D; // [B, Hkv, Skv, Dv]
  readonly keyTableQuery?: tf.Tensor4D; // [B, Hq, Sq, D]
}

/**
 * The same heads with zeros in place of keys and values that no query of theirs sees, and of queries that see nothing
 * or that the loss does not use.
 */
export function withoutMaskedRows(
  { query, key, value, keyTableQuery }: Heads,
  { plan, biases, used }: MaskedBy,
): Heads {
  return tf.tidy(() => {
    const inUse = rowsInUse(key, plan, biases);
    const zeroQueries = (x: tf.Tensor4D) => {
      const seeing = key.size === 0 ? tf.zerosLike(x) : zeroUnless(inUse.queries, x);
      return zeroUnless(used, seeing);
    };
    return {
      query: zeroQueries(query),
      key: zeroUnless(inUse.keys, key),
      value: zeroUnless(inUse.keys, value),
      ...(keyTableQuery && { keyTableQuery: zeroQueries(keyTableQuery) }),
    };
  });
}

interface MaskedBy {
  readonly plan: MaskPlan;
  /** Those that may hide a pair by -Infinity. */
  readonly biases: readonly tf.Tensor4D[];
  /** In the backward pass: queries whose results the loss uses, [B, Hq, Sq, 1]. */
  readonly used?: tf.Tensor | undefined;
}

/** Queries that see a key, [1 | B, 1 | Hq, Sq, 1], and keys that are seen, [1 | B, 1 | Hkv, Skv, 1]; absent: all. */
interface RowsInUse {
  readonly queries?: tf.Tensor | undefined;
  readonly keys?: tf.Tensor | undefined;
}

function rowsInUse(key: tf.Tensor4D, plan: MaskPlan, biases: readonly tf.Tensor4D[]): RowsInUse {
  if (key.size === 0) return {};
  if (plan.dense.length + biases.length === 0) return rowsOfSpans(plan, key.shape);
  return rowsOfPairs(visiblePairs(plan, key.shape[2], biases), key.shape[1]);
}

function rowsOfSpans(
  { shape: [B, H, Sq, width], spans }: MaskPlan,
  [, Hkv, Skv]: readonly [number, number, number, number],
): RowsInUse {
  const groups = H === 1 ? 1 : Hkv;
  const rowsOfGroup = (H / groups) * Sq;
  const queries = new Uint8Array(B * H * Sq);
  const keys = new Uint8Array(B * groups * Skv);
  for (let group = 0; group < B * groups; group++) {
    const starts = new Int32Array(Skv + 1); // spans that start at a key, less those that end before it
    for (let row = group * rowsOfGroup; row < (group + 1) * rowsOfGroup; row++) {
      for (let n = row * width; n < (row + 1) * width; n++) {
        const [from, to] = [spans[n * 2]!, spans[n * 2 + 1]!];
        if (from === to) continue;
        queries[row] = 1;
        starts[from]! += 1;
        starts[to]! -= 1;
      }
    }
    for (let j = 0, open = 0; j < Skv; j++) {
      open += starts[j]!;
      keys[group * Skv + j] = Number(open > 0);
    }
  }
  const unlessAll = (used: Uint8Array, shape: [number, number, number, number]) =>
    used.includes(0) ? tf.tensor4d(used, shape, 'bool') : undefined;
  return { queries: unlessAll(queries, [B, H, Sq, 1]), keys: unlessAll(keys, [B, groups, Skv, 1]) };
}

/** Which pairs are visible, as a tensor: [1 | B, 1 | Hq, Sq, Skv] of 0 and 1. */
function visiblePairs(plan: MaskPlan, Skv: number, biases: readonly tf.Tensor4D[]): tf.Tensor4D {
  const masks: tf.Tensor[] = [
    pairsOfSpans(plan, Skv),
    ...plan.dense.map((mask) => tf.cast(isTrue(mask), 'float32')),
    ...biases.map((bias) => tf.cast(tf.notEqual(bias, constant(-Infinity)), 'float32')),
  ];
  return masks.reduce((all, mask) => tf.mul(all, mask)) as tf.Tensor4D;
}

function pairsOfSpans(plan: MaskPlan, Skv: number): tf.Tensor4D {
  const [B, H, Sq, width] = plan.shape;
  return writeTensor<tf.Rank.R4>([B, H, Sq, Skv], (visible) => {
    visible.fill(0);
    for (let row = 0; row < B * H * Sq; row++) {
      for (let n = 0; n < width; n++) {
        const i = (row * width + n) * 2;
        visible.fill(1, row * Skv + plan.spans[i]!, row * Skv + plan.spans[i + 1]!);
      }
    }
  });
}

// The largest of 0 and 1, not `any`: on WebGPU tfjs gives nonsense for truths along any axis but the last.
function rowsOfPairs(pairs: tf.Tensor4D, Hkv: number): RowsInUse {
  const [B, H, Sq, Skv] = pairs.shape;
  const groups = H === 1 ? 1 : Hkv;
  const ofGroups = tf.reshape(pairs, [B, groups, (H / groups) * Sq, Skv]);
  const isOne = (x: tf.Tensor) => tf.expandDims(tf.greater(x, 0), 3);
  return { queries: isOne(tf.max(pairs, 3)), keys: isOne(tf.max(ofGroups, 2)) };
}

/** Bool of 0 and 1 only: on wasm a cast to bool keeps any number. */
export function isTrue(mask: tf.Tensor): tf.Tensor {
  return tf.notEqual(tf.cast(mask, 'int32'), 0);
}

function zeroUnless(condition: tf.Tensor | undefined, x: tf.Tensor4D): tf.Tensor4D {
  return condition ? tf.where(condition, x, tf.zerosLike(x)) : x;
}
