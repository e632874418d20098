// Cuts the tables of a position method for one block, and finds the row of each of its pairs.
import * as tf from '@tensorflow/tfjs-core';
import { fullAxis, sliceBox } from '../backend/slice-box';
import type { Span } from '../contract/mask';
import type { DistanceIndex, Positions } from '../contract/position';
import type { Block } from './blocks';
import { type PairIndex, pairIndex } from './pair-index';
import type { Prepared } from './prepare';
import type { BlockTables } from './relative-terms';

/** A table of a call. */
export interface PreparedTable {
  readonly table: tf.Tensor4D; // [1, 1 | Hq, R, D]; of biases [1, Hq, 1, R]
  readonly index: DistanceIndex;
  readonly size: number; // R
  readonly heads: number; // 1 where all heads share it
}

/** The tables of a call, and where its tokens stand. */
export interface PreparedTables {
  readonly positions: Positions;
  readonly bias?: PreparedTable;
  readonly keys?: PreparedTable & { readonly query?: tf.Tensor4D }; // [B, Hq, Sq, D], times scale
  readonly queries?: PreparedTable; // times scale, one for each head
  readonly values?: PreparedTable;
}

/** The row of each pair of a block, for each table there is. Tables that share an index share their rows. */
export type PairIndices = { readonly [name in 'bias' | 'keys' | 'queries' | 'values']?: PairIndex };

/** Finds the rows of a block's pairs; with a sink key, its column has none. */
export function pairIndices({ tables, sizes }: Prepared, block: Block, sinkKey: boolean): PairIndices {
  const byIndex = new Map<DistanceIndex, PairIndex>();
  const indices: Record<string, PairIndex> = {};
  for (const name of ['bias', 'keys', 'queries', 'values'] as const) {
    const table = tables?.[name];
    if (!table) continue;
    const earlier = byIndex.get(table.index);
    const index =
      earlier?.size === table.size
        ? earlier
        : pairIndex(tables.positions, table.index, table.size, { ...sizes, ...block, sinkKey });
    byIndex.set(table.index, index);
    indices[name] = index;
  }
  return indices;
}

/** The part of each table that a block reads, one for each of its batch entries. */
export function blockTables({ tables }: Prepared, block: Block, indices: PairIndices): BlockTables {
  if (!tables) return {};
  const { keys, queries, values } = tables;
  const { batch, heads, rows } = block;
  const ofBlock = ({ table }: PreparedTable) => forEachEntry(cutHeads(table, heads), batch);
  const query = keys?.query && sliceBox(keys.query, [batch, heads, rows, fullAxis(keys.query, 3)]);
  return {
    ...(keys && { keys: { table: ofBlock(keys), index: indices.keys!, ...(query && { query }) } }),
    ...(queries && { queries: { table: ofBlock(queries), index: indices.queries! } }),
    ...(values && { values: { table: ofBlock(values), index: indices.values! } }),
  };
}

function cutHeads(table: tf.Tensor4D, heads: Span): tf.Tensor4D {
  return sliceBox(table, [fullAxis(table, 0), heads, fullAxis(table, 2), fullAxis(table, 3)]);
}

/** Tables are small: one copy for each batch entry makes them an operand like keys. */
function forEachEntry(table: tf.Tensor4D, [from, to]: Span): tf.Tensor4D {
  return to - from === 1 ? table : tf.add(table, tf.zeros([to - from, 1, 1, 1]));
}
