// The division of a map's diagonal into blocks that holds most weight beyond an even head's.
import type { QueryRow } from './query-rows';

/**
 * Exact, by dynamic programming over where the last block starts.
 *
 * @param even the share an even head gives a key in a row
 * @returns the first key of each block, in order
 */
export function bestBlocks(
  rows: readonly QueryRow[],
  keys: number,
  even: (row: QueryRow, key: number) => number,
): number[] {
  const beyond = sumsBelow(rows, keys, even);
  const at = (r: number, c: number) => beyond[r * (keys + 1) + c]!;
  const gain = (from: number, to: number) => at(to, to) - at(to, from) - at(from, to) + at(from, from);
  const best = new Float64Array(keys + 1).fill(-Infinity);
  const startOfLast = new Int32Array(keys + 1);
  best[0] = 0;
  for (let end = 1; end <= keys; end++) {
    for (let start = 0; start < end; start++) {
      const total = best[start]! + gain(start, end);
      if (total <= best[end]!) continue;
      best[end] = total;
      startOfLast[end] = start;
    }
  }
  const starts: number[] = [];
  for (let end = keys; end > 0; end = startOfLast[end]!) starts.unshift(startOfLast[end]!);
  return starts;
}

/** [r, c]: what rows at positions below r have on keys below c, beyond an even head. */
function sumsBelow(
  rows: readonly QueryRow[],
  keys: number,
  even: (row: QueryRow, key: number) => number,
): Float64Array {
  const byPosition = new Map(rows.map((row) => [row.position, row]));
  const width = keys + 1;
  const sums = new Float64Array(width * width);
  for (let r = 0; r < keys; r++) {
    const row = byPosition.get(r);
    let ofRow = 0;
    for (let c = 0; c < keys; c++) {
      if (row) ofRow += row.shares[c]! - even(row, c);
      sums[(r + 1) * width + c + 1] = sums[r * width + c + 1]! + ofRow;
    }
  }
  return sums;
}
