// Which row of a table each pair of a block has, by its distance.
import type { Span } from '../contract/mask';
import type { DistanceIndex, Positions } from '../contract/position';
import { positionsOf } from '../kernel/token-positions';

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

/** The row of each pair of a block, from the positions of its queries and keys. */
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
    const keyPositions = positionsOf(positions.key, batch[0] + b, keys, Skv);
    for (let i = 0; i < rowCount; i++, offset += columns) {
      for (let j = 0; j < keyCount; j++) {
        const distance = keyPositions[j]! - queries[i]! - from;
        const row = table ? table[Math.max(0, Math.min(table.length - 1, distance))]! : distance;
        if (row >= 0 && row < size) at[offset + j] = row;
      }
    }
  }
  return { batch: entries, rows: rowCount, columns, size, at };
}

function isShared(positions: Positions['query'], count: number): boolean {
  if (positions.each) return positions.each.length === count;
  return positions.start.every((start) => start === positions.start[0]);
}

/** What the numbers of a table depend on beside the row, and how they lie. */
export type Along =
  | 'query' // [b, h, rows, R]
  | 'key' // [b, h, R, columns]
  | 'neither'; // [b, h, 1, R]
