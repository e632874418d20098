// Keys and values written where a cache has reserved rows for them: turned on the way, in one loop.
import type * as tf from '@tensorflow/tfjs-core';
import { addressOnHeap, heapMemory, wordsOf } from '../backend/wasm-heap';
import { checkReserved } from '../checks/check-stored';
import type { KeyValuePart, NewRows, ReservedRows } from '../contract/key-value-cache';
import type { HeadRows, PositionMethod, TokenPositions } from '../contract/position';

/**
 * Writes new rows, of which as many count as there are reserved rows.
 *
 * @param newRows what the cache was asked with: keys that are not turned yet
 * @param at where the tokens stand, for a position method that turns keys
 * @throws ShapeError, ConfigError for rows that the cache does not have: nothing is written
 */
export function writeReserved(
  { rows }: ReservedRows,
  newRows: NewRows,
  position: PositionMethod | undefined,
  at: readonly TokenPositions[],
): void {
  const { key, value } = newRows;
  checkReserved('attendHeads', rows, newRows);
  const keys = headRows(rows, 'key');
  if (position?.rotateInto) position.rotateInto(keys, key, 'key', at);
  else copyHeads(position?.rotate?.(key, 'key', at) ?? key, keys);
  copyHeads(value, headRows(rows, 'value'));
}

function headRows({ headStride, runs, ...matrices }: KeyValuePart, name: 'key' | 'value'): HeadRows {
  const { data, first } = matrices[name];
  const width = data.shape[1];
  const runsOf: Int32Array[] = [];
  const runsOfEntry = (b: number) => {
    runsOf[b] ??= runs(b);
    return runsOf[b];
  };
  return {
    data,
    tokens(b) {
      const own = runsOfEntry(b);
      let count = 0;
      for (let n = 1; n < own.length; n += 2) count += own[n]!;
      return count;
    },
    indexOf(b, h, s) {
      const own = runsOfEntry(b);
      let n = 0;
      for (; s >= own[n + 1]!; n += 2) s -= own[n + 1]!;
      return (own[n]! + h * headStride + s) * width + first;
    },
  };
}

// Up to here a loop costs less than `copyWithin`.
const shortRow = 128;

function copyHeads(heads: tf.Tensor4D, rows: HeadRows): void {
  const [B, H, S, D] = heads.shape;
  const [from, to] = [addressOnHeap(heads) / 4, addressOnHeap(rows.data) / 4];
  const { floats } = wordsOf(heapMemory()!);
  for (let b = 0; b < B; b++) {
    const tokens = rows.tokens(b);
    for (let h = 0; h < H; h++) {
      for (let s = 0; s < tokens; s++) {
        const begin = from + ((b * H + h) * S + s) * D;
        const target = to + rows.indexOf(b, h, s);
        if (D > shortRow) floats.copyWithin(target, begin, begin + D);
        else for (let d = 0; d < D; d++) floats[target + d] = floats[begin + d]!;
      }
    }
  }
}
