// Tables looked up by distance, with random numbers: for a kernel, and for the oracle.
import type { DistanceIndex, RelativeTables } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import { randomTensor, seededRandom } from './inputs';
import type { HostTensor, OracleInputs, Sizes } from './oracle';

/** The shapes of the tables of a call; `ownQuery` is what the table of keys is dotted with, in place of the query. */
interface TableShapes {
  readonly bias?: readonly number[];
  readonly keys?: readonly number[];
  readonly ownQuery?: readonly number[];
  readonly queries?: readonly number[];
  readonly values?: readonly number[];
}

// Five rows; farther distances share the outer ones (Shaw et al. 2018, 1803.02155).
const R = 5;
const index: DistanceIndex = { from: -2, rows: Int32Array.of(0, 1, 2, 3, 4) };

export const relativeKinds: { readonly [name: string]: (sizes: Sizes) => TableShapes } = {
  bias: ({ Hq }) => ({ bias: [Hq, R] }),
  'keys, per head': ({ Hq, D }) => ({ keys: [Hq, R, D] }),
  'keys with a query of their own': ({ B, Hq, Sq, D }) => ({ keys: [1, R, D], ownQuery: [B, Hq, Sq, D] }),
  queries: ({ D }) => ({ queries: [1, R, D] }),
  'values, per head': ({ Hq, Dv }) => ({ values: [Hq, R, Dv] }),
  'all of them': ({ Hq, D, Dv }) => ({
    bias: [Hq, R],
    keys: [1, R, D],
    queries: [Hq, R, D],
    values: [1, R, Dv],
  }),
};

/** Numbers for the tables, by their names. */
export function randomTables(shapes: TableShapes): { readonly [name: string]: HostTensor } {
  const random = seededRandom(11);
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [name, randomTensor(shape as readonly number[], random)]),
  );
}

export function tensorTables(tensors: { readonly [name: string]: tf.Tensor }): RelativeTables {
  const { bias, keys, ownQuery, queries, values } = tensors;
  return {
    ...(bias && { bias: { table: bias as tf.Tensor2D, index } }),
    ...(keys && {
      keys: { table: keys as tf.Tensor3D, index, ...(ownQuery && { query: ownQuery as tf.Tensor4D }) },
    }),
    ...(queries && { queries: { table: queries as tf.Tensor3D, index } }),
    ...(values && { values: { table: values as tf.Tensor3D, index } }),
  };
}

export function oracleTables(arrays: { readonly [name: string]: HostTensor }): OracleInputs['relative'] {
  const { bias, keys, ownQuery, queries, values } = arrays;
  return {
    ...(bias && { bias: { ...bias, index } }),
    ...(keys && { keys: { ...keys, index, ...(ownQuery && { query: ownQuery.data }) } }),
    ...(queries && { queries: { ...queries, index } }),
    ...(values && { values: { ...values, index } }),
  };
}
