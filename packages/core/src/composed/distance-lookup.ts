// Rows of a table looked up by the distance of a pair, and the way back: never a tensor of rows x keys x D.
import * as tf from '@tensorflow/tfjs-core';
import { computeOnHost } from '../backend/host-loop';
import { backendTraits } from '../backend/traits';
import { accumulateOnDevice, lookupOnDevice } from './device-lookup';
import type { Along, PairIndex } from './pair-index';

/**
 * The number of each pair: of query i and key j, x[i, row(i, j)], x[row(i, j), j] or x[row(i, j)]; 0 where there is no
 * row.
 *
 * @param x laid out as `along` says
 * @returns [b, h, rows, columns]
 */
export function lookup(x: tf.Tensor4D, index: PairIndex, along: Along): tf.Tensor4D {
  const pairs: Shape4 = [Math.max(x.shape[0], index.batch), x.shape[1], index.rows, index.columns];
  if (!backendTraits().synchronousRead) return tf.tidy(() => lookupOnDevice(x, index, along));
  return computeOnHost<tf.Rank.R4>([x], pairs, ([from], to) => {
    eachRow(pairs, index, { along, entries: x.shape[0] }, ({ pair, cell, perKey, perRow, at }) => {
      for (let j = 0; j < index.columns; j++) {
        const row = index.at[at + j]!;
        if (row < index.size) to[pair + j] = from![cell + j * perKey + row * perRow]!;
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
  if (!backendTraits().synchronousRead) return tf.tidy(() => accumulateOnDevice(y, index, along));
  return computeOnHost<tf.Rank.R4>([y], shape, ([from], to) => {
    const sums = new Float64Array(to.length); // a far row of a clipped table sums most of a sequence
    eachRow(y.shape, index, { along, entries: b }, ({ pair, cell, perKey, perRow, at }) => {
      for (let j = 0; j < columns; j++) {
        const row = index.at[at + j]!;
        if (row < size) sums[cell + j * perKey + row * perRow]! += from![pair + j]!;
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
  readonly at: number; // where the row begins in the index
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
