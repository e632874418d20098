// The four tables that a position method may give, as terms of the formula. Each stands at the distance of a pair:
//
//   products_ij += q_i · keys_d + k_j · queries_d       scores_ij += bias_d       output_i += sum_j w_ij values_d
import type * as tf from '@tensorflow/tfjs-core';
import { times, timesTransposed, transposedTimes } from '../backend/multiply';
import { accumulate, lookup } from './distance-lookup';
import { finitePart } from './non-finite';
import type { PairIndex } from './pair-index';

/** A table of a block, and the row of each pair in it. */
export interface BlockTable {
  readonly table: tf.Tensor4D; // [b, 1 | hq, R, D]
  readonly index: PairIndex;
}

/** The tables of a block that make terms of products and output. */
export interface BlockTables {
  readonly keys?: BlockTable & { readonly query?: tf.Tensor4D }; // a query of its own: [b, hq, rows, D], times scale
  readonly queries?: BlockTable; // times scale; one table for each head: [b, hq, R, D]
  readonly values?: BlockTable;
}

/** The tables with 0 in place of NaN and Infinity. */
export function finiteTables({ keys, queries, values }: BlockTables): BlockTables {
  const finite = <T extends BlockTable>(table: T): T => ({ ...table, table: finitePart(table.table) });
  return {
    ...(keys && { keys: { ...finite(keys), ...(keys.query && { query: finitePart(keys.query) }) } }),
    ...(queries && { queries: finite(queries) }),
    ...(values && { values: finite(values) }),
  };
}

/** What tables add to the products of queries and keys: [b, hq, rows, keys]. */
export function tableProducts(
  { keys, queries }: BlockTables,
  query: tf.Tensor4D,
  key: tf.Tensor4D,
): tf.Tensor4D[] {
  const terms: tf.Tensor4D[] = [];
  if (keys) terms.push(lookup(timesTransposed(keys.query ?? query, keys.table), keys.index, 'query'));
  if (queries) terms.push(lookup(timesTransposed(queries.table, key), queries.index, 'key')); // of [b, hq, R, keys]
  return terms;
}

/** What the table of values adds to the output: [b, hq, rows, Dv]. */
export function tableOutput({ table, index }: BlockTable, kept: tf.Tensor4D): tf.Tensor4D {
  return times(accumulate(kept, index, 'query'), table);
}

/** The gradient of `tableOutput` for the weights, and for the table. */
export function tableOutputGradient({ table, index }: BlockTable, kept: tf.Tensor4D, dOutput: tf.Tensor4D) {
  return {
    kept: lookup(timesTransposed(dOutput, table), index, 'query'),
    values: transposedTimes(accumulate(kept, index, 'query'), dOutput, table.shape[1]),
  };
}

/** The gradients of `tableProducts`, by name; `query` and `key` are parts of theirs. */
export function tableProductsGradient(
  { keys, queries }: BlockTables,
  { query, key }: { readonly query: tf.Tensor4D; readonly key: tf.Tensor4D },
  dProducts: tf.Tensor4D,
): {
  query?: tf.Tensor4D;
  key?: tf.Tensor4D;
  keys?: tf.Tensor4D;
  keysQuery?: tf.Tensor4D;
  queries?: tf.Tensor4D;
} {
  const byKeys = keys && accumulate(dProducts, keys.index, 'query'); // [b, hq, rows, R]
  const byQueries = queries && accumulate(dProducts, queries.index, 'key'); // [b, hq, R, keys]
  const dQuery = byKeys && times(byKeys, keys.table);
  return {
    ...(dQuery && { [keys.query ? 'keysQuery' : 'query']: dQuery }),
    ...(byKeys && { keys: transposedTimes(byKeys, keys.query ?? query, keys.table.shape[1]) }),
    ...(byQueries && { queries: times(byQueries, key) }),
    ...(byQueries && { key: transposedTimes(byQueries, queries.table, key.shape[1]) }),
  };
}
