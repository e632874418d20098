// softmax(softcap(scale Q K^T) + bias + mask) V for one block, and its gradient (Vaswani et al. 2017, 1706.03762).
// Where a position method gives tables, their terms stand beside those of queries, keys and values.
import * as tf from '@tensorflow/tfjs-core';
import { preciseTanh, zeroWhere } from '../backend/device-math';
import { timesOverKeys, timesTransposed, transposedTimes } from '../backend/multiply';
import { addNonFiniteTable, addNonFiniteValues, finitePart, isUsed, zeroHidden } from './non-finite';
import {
  type BlockTables,
  finiteTables,
  tableOutput,
  tableOutputGradient,
  tableProducts,
  tableProductsGradient,
} from './relative-terms';

/** The tensors of a block. `keys` counts the sink key where there is one. */
export interface BlockTensors {
  readonly query: tf.Tensor4D; // [b, hq, rows, D], times scale
  readonly key: tf.Tensor4D; // [b, hkv, keys, D]
  readonly value: tf.Tensor4D; // [b, hkv, keys, Dv]
  readonly softcap: number; // 0: off
  readonly added?: tf.Tensor4D; // broadcasts to [b, hq, rows, keys]
  readonly keep?: tf.Tensor4D; // [b, hq, rows, keys]: 0, or 1 / (1 - rate)
  readonly visible?: tf.Tensor4D; // [b, hq, rows, keys]: 1 or 0; only where numbers may be not finite
  readonly tables: BlockTables;
}

/** The steps from products to weights. */
export interface BlockWeights {
  readonly capped: tf.Tensor4D; // [b, hq, rows, keys]
  readonly scores: tf.Tensor4D; // [b, hq, rows, keys]
  readonly weights: tf.Tensor4D; // [b, hq, rows, keys], before dropout
  readonly kept: tf.Tensor4D; // [b, hq, rows, keys], after dropout
}

/** softmax(softcap(scale Q K^T) + bias + mask), and dropout. */
export function attentionWeights(x: BlockTensors): BlockWeights {
  const { query, key, softcap, added, keep, visible, tables } = x;
  const pairs = sum(timesTransposed(query, key), tableProducts(tables, query, key)); // [b, hq, rows, keys]
  const products = zeroHidden(pairs, visible);
  const capped: tf.Tensor4D = softcap ? tf.mul(preciseTanh(tf.div(products, softcap)), softcap) : products;
  const scores: tf.Tensor4D = added ? tf.add(capped, added) : capped;
  const weights = zeroHidden(tf.softmax(scores), visible);
  const kept: tf.Tensor4D = keep ? tf.mul(weights, keep) : weights;
  return { capped, scores, weights, kept };
}

/** [b, hq, rows, Dv] */
export function attentionOutput({ kept }: BlockWeights, x: BlockTensors): tf.Tensor4D {
  const { value, tables } = finiteParts(x);
  const output = sum(timesOverKeys(kept, value), tables.values ? [tableOutput(tables.values, kept)] : []);
  if (!x.visible) return output;
  const ofValues = addNonFiniteValues(output, x.value, x.visible);
  return x.tables.values ? addNonFiniteTable(ofValues, x.tables.values, x.visible) : ofValues;
}

/**
 * log of the sum of exp(scores), for each row: the largest weight is exp(max - logSumExp).
 *
 * @param fullyMaskedRows 1 for rows that see nothing, which is -Infinity; else 0
 */
export function logSumExp(
  { scores, weights }: BlockWeights,
  fullyMaskedRows: tf.Tensor4D | undefined,
): tf.Tensor4D {
  const sums: tf.Tensor4D = tf.sub(tf.max(scores, 3, true), tf.log(tf.max(weights, 3, true))); // [b, hq, rows, 1]
  return fullyMaskedRows ? tf.add(sums, zeroWhere(tf.sub(1, fullyMaskedRows))) : sums;
}

/** The gradients of the results of a block, or of a call. */
export interface ResultGradients {
  readonly output: tf.Tensor4D; // [b, hq, rows, Dv]
  readonly weights?: tf.Tensor4D; // [b, hq, rows, keys]
  readonly logSumExp?: tf.Tensor4D; // [b, hq, rows, 1]
}

/** From the gradients of the results to those of the inputs; `query` is that of the scaled query. */
export function attentionGradient(tensors: BlockTensors, d: ResultGradients) {
  const x = tensors.visible
    ? { ...tensors, visible: tf.mul<tf.Tensor4D>(tensors.visible, tf.cast(isUsed(d), 'float32')) }
    : tensors;
  const { capped, weights, kept } = weightsAgain(x);
  const value = transposedTimes(kept, d.output, x.value.shape[1]); // [b, hkv, keys, Dv]
  const throughTable = x.tables.values && tableOutputGradient(x.tables.values, kept, d.output);
  const ofPairs = sum(timesTransposed(d.output, x.value), throughTable ? [throughTable.kept] : []);
  const throughOutput = zeroHidden(ofPairs, x.visible);
  const throughKept: tf.Tensor4D = x.keep ? tf.mul(throughOutput, x.keep) : throughOutput;
  const dWeights: tf.Tensor4D = d.weights ? tf.add(throughKept, d.weights) : throughKept; // [b, hq, rows, keys]
  // The derivative of softmax is diag(w) - w w^T, that of log-sum-exp is w.
  const mean = tf.sum(tf.mul(dWeights, weights), 3, true); // [b, hq, rows, 1]
  const centered = tf.sub(dWeights, d.logSumExp ? tf.sub(mean, d.logSumExp) : mean);
  const scores: tf.Tensor4D = tf.mul(weights, centered);
  const slope = x.softcap ? tf.sub(1, tf.square(tf.div(capped!, x.softcap))) : undefined; // of c tanh(s / c)
  const products: tf.Tensor4D = slope ? tf.mul(scores, slope) : scores;
  const y = finiteParts(x);
  const ofTables = tableProductsGradient(y.tables, y, products);
  const query = sum(timesOverKeys(products, y.key), ofTables.query ? [ofTables.query] : []); // [b, hq, rows, D]
  const ofProducts = transposedTimes(products, y.query, y.key.shape[1]);
  const key = sum(ofProducts, ofTables.key ? [ofTables.key] : []); // [b, hkv, keys, D]
  const { keys, keysQuery, queries } = ofTables;
  return { query, key, value, scores, tables: { keys, keysQuery, queries, values: throughTable?.values } };
}

/** What of the weights the gradient needs; the rest is freed before it begins. */
function weightsAgain(x: BlockTensors): { weights: tf.Tensor4D; kept: tf.Tensor4D; capped?: tf.Tensor4D } {
  return tf.tidy(() => {
    const { capped, weights, kept } = attentionWeights(x);
    return x.softcap ? { weights, kept, capped } : { weights, kept };
  });
}

/** The tensors as factors of what is 0 at hidden pairs; the same where all numbers are finite. */
function finiteParts(x: BlockTensors): BlockTensors {
  if (!x.visible) return x;
  const { query, key, value, tables } = x;
  return {
    ...x,
    query: finitePart(query),
    key: finitePart(key),
    value: finitePart(value),
    tables: finiteTables(tables),
  };
}

function sum(first: tf.Tensor4D, others: readonly tf.Tensor4D[]): tf.Tensor4D {
  return others.reduce<tf.Tensor4D>((total, other) => tf.add(total, other), first);
}
