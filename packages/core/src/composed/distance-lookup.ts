// Rows of a table found by the distance of a pair, and the way back: never a tensor of rows x keys x D.
import * as tf from '@tensorflow/tfjs-core';
import type { Span } from '../mask';
import type { DistanceIndex, Positions } from '../position';
import { readsAtOnce } from '../reads-at-once';
import { positionsOf } from '../token-positions';
import { floatsOnHeap, hasWasmHeap } from '../wasm-heap';
import { writeTensor } from '../write-tensor';

/** For each pair of a block, the row of a table; `size` where there is none. */
export interface PairIndex {
  readonly batch: number; // 1 where all batch entries stand at the same positions
  readonly rows: number;
  readonly columns: number;
  readonly size: number; // R
  readonly at: Int32Array; // [batch, rows, columns]
}

/** Sizes of a call that positions are counted in, and the part of it that a block covers. */
export interface PairRange {
  readonly Sq: number;
  readonly Skv: number;
  readonly batch: Span;
  readonly rows: Span;
  readonly keys: Span;
  readonly sinkKey: boolean; // one more column, which no table has a row for
}

export function pairIndex(
  positions: Positions,
  { from, rows: table }: DistanceIndex,
  size: number,
  range: PairRange,
): PairIndex {
  const { batch, rows, keys, sinkKey, Sq, Skv } = range;
  const [rowCount, keyCount] = [rows[1] - rows[0], keys[1] - keys[0]];
  const shared = isShared(positions.query, Sq) && isShared(positions.key, Skv);
  const entries = shared ? 1 : batch[1] - batch[0];
  const columns = keyCount + (sinkKey ? 1 : 0);
  const at = new Int32Array(entries * rowCount * columns).fill(size);
  for (let b = 0, offset = 0; b < entries; b++) {
    const queries = positionsOf(positions.query, batch[0] + b, rows, Sq);
    const places = positionsOf(positions.key, batch[0] + b, keys, Skv);
    for (let i = 0; i < rowCount; i++, offset += columns) {
      for (let j = 0; j < keyCount; j++) {
        const distance = places[j]! - queries[i]! - from;
        const row = table ? table[Math.max(0, Math.min(table.length - 1, distance))]! : distance;
        if (row >= 0 && row < size) at[offset + j] = row;
      }
    }
  }
  return { batch: entries, rows: rowCount, columns, size, at };
}

function isShared(positions: Positions['query'], count: number): boolean {
  if ('each' in positions) return positions.each.length === count;
  return positions.start.every((start) => start === positions.start[0]);
}

/** What the numbers of a table depend on beside the row, and how they lie. */
export type Along =
  | 'query' // [b, h, rows, R]
  | 'key' // [b, h, R, columns]
  | 'neither'; // [b, h, 1, R]

/**
 * The number of each pair: of query i and key j, x[i, row(i, j)], x[row(i, j), j] or x[row(i, j)]; 0 where there is no
 * row.
 *
 * @param x laid out as `along` says
 * @returns [b, h, rows, columns]
 */
export function lookup(x: tf.Tensor4D, index: PairIndex, along: Along): tf.Tensor4D {
  const pairs: Shape4 = [Math.max(x.shape[0], index.batch), x.shape[1], index.rows, index.columns];
  if (!readsAtOnce()) return lookupOnDevice(x, index, { along, pairs });
  return onHost(x, pairs, (from, to) => {
    eachRow(pairs, index, { along, entries: x.shape[0] }, ({ pair, cell, perKey, perRow, at }) => {
      for (let j = 0; j < index.columns; j++) {
        const row = index.at[at + j]!;
        if (row < index.size) to[pair + j] = from[cell + j * perKey + row * perRow]!;
      }
    });
  });
}

/**
 * The transpose of `lookup`: the numbers of all pairs that share a row, summed.
 *
 * @param y [b, h, rows, columns]
 * @returns laid out as `along` says, with the batch of y
 */
export function accumulate(y: tf.Tensor4D, index: PairIndex, along: Along): tf.Tensor4D {
  const [b, h] = y.shape;
  const { rows, columns, size } = index;
  const layouts = {
    query: [b, h, rows, size],
    key: [b, h, size, columns],
    neither: [b, h, 1, size],
  } as const;
  const shape = [...layouts[along]] as Shape4;
  if (!readsAtOnce()) return accumulateOnDevice(y, index, { along, shape });
  return onHost(y, shape, (from, to) => {
    const sums = new Float64Array(to.length); // a far row of a clipped table sums most of a sequence
    eachRow(y.shape, index, { along, entries: b }, ({ pair, cell, perKey, perRow, at }) => {
      for (let j = 0; j < columns; j++) {
        const row = index.at[at + j]!;
        if (row < size) sums[cell + j * perKey + row * perRow]! += from[pair + j]!;
      }
    });
    to.set(sums);
  });
}

type Shape4 = [number, number, number, number];

interface RowOfPairs {
  readonly pair: number; // the row's first pair
  readonly cell: number; // where its numbers begin in the table's layout
  readonly perKey: number;
  readonly perRow: number;
  readonly at: number; // the row's first place in the index
}

function eachRow(
  [b, h, rows, columns]: Shape4,
  index: PairIndex,
  { along, entries }: { readonly along: Along; readonly entries: number },
  visit: (row: RowOfPairs) => void,
): void {
  const { perHead, perQuery, perKey, perRow } = strides(index, along);
  for (let n = 0; n < b * h; n++) {
    const entry = Math.floor(n / h);
    const head = (entries === 1 ? n % h : n) * perHead;
    const first = (index.batch === 1 ? 0 : entry) * rows * columns;
    for (let i = 0; i < rows; i++) {
      const pair = (n * rows + i) * columns;
      visit({ pair, cell: head + i * perQuery, perKey, perRow, at: first + i * columns });
    }
  }
}

function strides({ rows, columns, size }: PairIndex, along: Along) {
  if (along === 'query') return { perHead: rows * size, perQuery: size, perKey: 0, perRow: 1 };
  if (along === 'key') return { perHead: size * columns, perQuery: 0, perKey: 1, perRow: columns };
  return { perHead: size, perQuery: 0, perKey: 0, perRow: 1 };
}

/** A tensor whose numbers a loop makes of those of x; they are 0 before it. */
function onHost(
  x: tf.Tensor4D,
  shape: Shape4,
  write: (from: Float32Array, to: Float32Array) => void,
): tf.Tensor4D {
  if (!hasWasmHeap()) {
    const from = x.dataSync() as Float32Array;
    return writeTensor<tf.Rank.R4>(shape, (to) => write(from, to));
  }
  floatsOnHeap(x); // moves it here, if need be, before there is room for the result
  return writeTensor<tf.Rank.R4>(shape, (to) => write(floatsOnHeap(x), to.fill(0)));
}

/** Where each pair's number lies in the flat table, and whether it has one: [b, h, rows, columns] each. */
function cellsOnDevice(index: PairIndex, along: Along, [b, h]: readonly [number, number]) {
  const { perHead, perQuery, perKey, perRow } = strides(index, along);
  const { batch, rows, columns, size, at } = index;
  const offsets = at.map((row, n) => {
    const [i, j] = [Math.floor(n / columns) % rows, n % columns];
    return i * perQuery + j * perKey + (row < size ? row : 0) * perRow;
  });
  const shape: Shape4 = [batch, 1, rows, columns];
  const heads = tf.mul(tf.reshape(tf.range(0, b * h, 1, 'int32'), [b, h, 1, 1]), tf.scalar(perHead, 'int32'));
  return {
    cells: tf.add(tf.tensor4d(offsets, shape, 'int32'), heads),
    known: tf.tensor4d(
      Float32Array.from(at, (row) => Number(row < size)),
      shape,
    ),
  };
}

/** `lookup` where reading back would wait for a device. */
export function lookupOnDevice(
  x: tf.Tensor4D,
  index: PairIndex,
  { along, pairs }: { readonly along: Along; readonly pairs: Shape4 },
): tf.Tensor4D {
  const { cells, known } = cellsOnDevice(index, along, [x.shape[0], x.shape[1]]);
  const found = tf.gather(tf.reshape(x, [-1]), tf.cast(cells, 'int32'));
  return tf.reshape(tf.mul(found, known), pairs);
}

/** `accumulate` where reading back would wait for a device. */
export function accumulateOnDevice(
  y: tf.Tensor4D,
  index: PairIndex,
  { along, shape }: { readonly along: Along; readonly shape: Shape4 },
): tf.Tensor4D {
  const { cells, known } = cellsOnDevice(index, along, [y.shape[0], y.shape[1]]);
  const places = tf.reshape(tf.add(tf.cast(cells, 'int32'), tf.zeros(y.shape, 'int32')), [-1, 1]);
  const size = shape.reduce((product, n) => product * n, 1);
  const sums = tf.scatterND(tf.cast(places, 'int32'), tf.reshape(tf.mul(y, known), [-1]), [size]); // it accumulates
  return tf.reshape(sums, shape);
}
