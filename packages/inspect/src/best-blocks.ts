// The division of a map's diagonal into blocks that holds most weight beyond an even head's.
import type { QueryRow } from './query-rows';

/**
 * Exact, by dynamic programming over where the last block starts, in time and memory of rows · keys: a block's gain
 * depends on the rows in it, so blocks are told apart by their first row, and within that by their first key.
 *
 * @param even the share an even head gives a key in a row
 * @returns the first key of each block, in order
 */
export function bestBlocks(
  rows: readonly QueryRow[],
  keys: number,
  even: (row: QueryRow, key: number) => number,
): number[] {
  const inside = rows.filter(({ position }) => position >= 0 && position < keys);
  const beyond = sumsBelow(inside, keys, even);
  const at = (r: number, c: number) => beyond[r * (keys + 1) + c]!;
  const best = new Float64Array(keys + 1).fill(-Infinity);
  const startOfLast = new Int32Array(keys + 1);
  best[0] = 0;
  // Ends behind j rows: from the key after row j - 1 to that of row j.
  const firstEnd = (j: number) => (j === 0 ? 0 : inside[j - 1]!.position + 1);
  for (let j = 0; j <= inside.length; j++) {
    const starts = Array.from({ length: j }, (_, i) => bestStart(i, j));
    let empty = firstEnd(j); // where a block without rows starts best
    for (let end = Math.max(1, firstEnd(j)); end <= (inside[j]?.position ?? keys); end++) {
      const offer = (total: number, start: number) => {
        if (total > best[end]!) [best[end], startOfLast[end]] = [total, start];
      };
      for (const [i, { start, total }] of starts.entries()) offer(total + at(j, end) - at(i, end), start);
      if (best[end - 1]! > best[empty]! && end > firstEnd(j)) empty = end - 1;
      if (end > empty) offer(best[empty]!, empty);
    }
  }

  /** Where a block of the rows i to j - 1 starts best, and what all before it holds, less what its rows have there. */
  function bestStart(i: number, j: number): { start: number; total: number } {
    let [start, total] = [firstEnd(i), -Infinity];
    for (let from = start; from <= inside[i]!.position; from++) {
      const candidate = best[from]! + at(i, from) - at(j, from);
      if (candidate > total) [start, total] = [from, candidate];
    }
    return { start, total };
  }

  const blocks: number[] = [];
  for (let end = keys; end > 0; end = startOfLast[end]!) blocks.unshift(startOfLast[end]!);
  return blocks;
}

/** [r, c]: what the first r rows have on keys below c, beyond an even head. */
function sumsBelow(
  rows: readonly QueryRow[],
  keys: number,
  even: (row: QueryRow, key: number) => number,
): Float64Array {
  const width = keys + 1;
  const sums = new Float64Array((rows.length + 1) * width);
  rows.forEach((row, r) => {
    let ofRow = 0;
    for (let c = 0; c < keys; c++) {
      ofRow += row.shares[c]! - even(row, c);
      sums[(r + 1) * width + c + 1] = sums[r * width + c + 1]! + ofRow;
    }
  });
  return sums;
}
