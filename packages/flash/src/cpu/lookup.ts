// The tables of a position method on the host, and the row a distance has in one.
import type { DistanceIndex, RelativeTables } from '@polyhead/core';
import type { CallTensors } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';

export interface Table {
  readonly numbers: Float64Array; // [1 | Hq, R, N]
  readonly shape: readonly number[];
  readonly R: number;
  readonly index: DistanceIndex;
  /** Where the rows of a head begin, counted in rows: 0 where all heads share them. */
  firstRow(h: number): number;
  /** The rows of a head. */
  rowsOf(h: number): Float64Array; // [R, N]
}

export interface Tables {
  readonly biasTable?: Table; // N = 1
  readonly keyTable?: Table;
  readonly keyTableQuery?: ArrayLike<number>; // [B, Hq, Sq, D]
  readonly queryTable?: Table;
  readonly valueTable?: Table;
}

export function tablesOnHost(relative: RelativeTables | undefined, tensors: CallTensors): Tables {
  const { biasTable, keyTable, keyTableQuery, queryTable, valueTable } = tensors;
  return {
    ...(biasTable && { biasTable: tableOnHost(biasTable, relative!.bias!.index) }),
    ...(keyTable && { keyTable: tableOnHost(keyTable, relative!.keys!.index) }),
    ...(keyTableQuery && { keyTableQuery: keyTableQuery.dataSync() }),
    ...(queryTable && { queryTable: tableOnHost(queryTable, relative!.queries!.index) }),
    ...(valueTable && { valueTable: tableOnHost(valueTable, relative!.values!.index) }),
  };
}

function tableOnHost(tensor: tf.Tensor2D | tf.Tensor3D, index: DistanceIndex): Table {
  const [H, R] = tensor.shape;
  const numbers = new Float64Array(tensor.dataSync());
  const size = numbers.length / H;
  const heads = Array.from({ length: H }, (_, h) => numbers.subarray(h * size, (h + 1) * size));
  return {
    numbers,
    shape: tensor.shape,
    R,
    index,
    firstRow: (h) => (H === 1 ? 0 : h * R),
    rowsOf: (h) => heads[H === 1 ? 0 : h]!,
  };
}

/** The row of a distance, key position - query position, or -1 where the table has none. */
export function tableRow({ index, R }: Table, distance: number): number {
  const entry = distance - index.from;
  const { rows } = index;
  const row = rows ? rows[Math.max(0, Math.min(rows.length - 1, entry))]! : entry;
  return row >= 0 && row < R ? row : -1;
}
