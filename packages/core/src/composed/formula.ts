// softmax(softcap(scale Q K^T) + bias + mask) V for one block, and its gradient (Vaswani et al. 2017, 1706.03762).
// Where a position method gives tables, their terms stand beside those of queries, keys and values.
import * as tf from '@tensorflow/tfjs-core';
import { preciseTanh, zeroWhere } from '../backend/device-math';
import { timesOverKeys, timesTransposed, transposedTimes } from '../backend/multiply';
import {
  type BlockTables,
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
  readonly tables: BlockTables;
}

export interface BlockWeights {
  readonly capped: tf.Tensor4D; // [b, hq, rows, keys]
  readonly scores: tf.Tensor4D; // [b, hq, rows, keys]
  readonly weights: tf.Tensor4D; // [b, hq, rows, keys], before dropout
  readonly kept: tf.Tensor4D; // [b, hq, rows, keys], after dropout
}

export function attentionWeights({ query, key, softcap, added, keep, tables }: BlockTensors): BlockWeights {
  const products = sum(timesTransposed(query, key), tableProducts(tables, query, key)); // [b, hq, rows, keys]
  const capped: tf.Tensor4D = softcap ? tf.mul(preciseTanh(tf.div(products, softcap)), softcap) : products;
  const scores: tf.Tensor4D = added ? tf.add(capped, added) : capped;
  const weights: tf.Tensor4D = tf.softmax(scores);
  const kept: tf.Tensor4D = keep ? tf.mul(weights, keep) : weights;
  return { capped, scores, weights, kept };
}

/** [b, hq, rows, Dv] */
export function attentionOutput({ kept }: BlockWeights, { value, tables }: BlockTensors): tf.Tensor4D {
  return sum(timesOverKeys(kept, value), tables.values ? [tableOutput(tables.values, kept)] : []);
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

export interface ResultGradients {
  readonly output: tf.Tensor4D; // [b, hq, rows, Dv]
  readonly weights?: tf.Tensor4D; // [b, hq, rows, keys]
  readonly logSumExp?: tf.Tensor4D; // [b, hq, rows, 1]
}

/** From the gradients of the results to those of the inputs; `query` is that of the scaled query. */
export function attentionGradient(x: BlockTensors, d: ResultGradients) {
  const { capped, weights, kept } = weightsAgain(x);
  const value = transposedTimes(kept, d.output, x.value.shape[1]); // [b, hkv, keys, Dv]
  const throughTable = x.tables.values && tableOutputGradient(x.tables.values, kept, d.output);
  const throughOutput = sum(timesTransposed(d.output, x.value), throughTable ? [throughTable.kept] : []);
  const throughKept: tf.Tensor4D = x.keep ? tf.mul(throughOutput, x.keep) : throughOutput;
  const dWeights: tf.Tensor4D = d.weights ? tf.add(throughKept, d.weights) : throughKept; // [b, hq, rows, keys]
  // The derivative of softmax is diag(w) - w w^T, that of log-sum-exp is w.
  const mean = tf.sum(tf.mul(dWeights, weights), 3, true); // [b, hq, rows, 1]
  const centered = tf.sub(dWeights, d.logSumExp ? tf.sub(mean, d.logSumExp) : mean);
  const scores: tf.Tensor4D = tf.mul(weights, centered);
  const slope = x.softcap ? tf.sub(1, tf.square(tf.div(capped!, x.softcap))) : undefined; // of c tanh(s / c)
  const products: tf.Tensor4D = slope ? tf.mul(scores, slope) : scores;
  const ofTables = tableProductsGradient(x.tables, x, products);
  const query = sum(timesOverKeys(products, x.key), ofTables.query ? [ofTables.query] : []); // [b, hq, rows, D]
  const ofProducts = transposedTimes(products, x.query, x.key.shape[1]);
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

function sum(first: tf.Tensor4D, others: readonly tf.Tensor4D[]): tf.Tensor4D {
  return others.reduce<tf.Tensor4D>((total, other) => tf.add(total, other), first);
}
