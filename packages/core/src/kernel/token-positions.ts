import type { Span } from '../contract/mask';
import type { Positions, TokenPositions } from '../contract/position';

/** How many rows of each batch entry count; absent: all. */
export interface RowCounts {
  readonly query?: readonly number[] | undefined; // [B]
  readonly key?: readonly number[] | undefined; // [B]
}

/**
 * The distances key position - query position that can occur between rows of one batch entry; 0 where there are none.
 *
 * @param sizes rows of an entry: Sq and Skv
 */
export function distancesBetween(
  { query, key }: Positions,
  [Sq, Skv]: readonly [number, number],
  counts: RowCounts = {},
): Span {
  let [low, high] = [Infinity, -Infinity];
  const entries = Math.max(entriesOf(query, Sq), entriesOf(key, Skv));
  for (let b = 0; b < entries; b++) {
    const queries = boundsOf(query, b, { count: Sq, known: counts.query?.[b] });
    const keys = boundsOf(key, b, { count: Skv, known: counts.key?.[b] });
    if (!queries || !keys) continue;
    low = Math.min(low, keys[0] - queries[1]);
    high = Math.max(high, keys[1] - queries[0]);
  }
  return low <= high ? [low, high + 1] : [0, 1];
}

function entriesOf(positions: TokenPositions, count: number): number {
  if (positions.start) return positions.start.length;
  return count === 0 ? 0 : positions.each.length / count;
}

/** The smallest and the largest position of the rows that count; undefined where there are none. */
function boundsOf(
  positions: TokenPositions,
  b: number,
  { count, known = count }: { readonly count: number; readonly known?: number | undefined },
): readonly [number, number] | undefined {
  if (known === 0) return undefined;
  if (positions.start) {
    const start = positions.start[positions.start.length === 1 ? 0 : b]!;
    return [start, start + known - 1];
  }
  let [low, high] = [Infinity, -Infinity];
  const rows = positionsOf(positions, b, [0, known], count);
  for (let i = 0; i < rows.length; i++) {
    low = Math.min(low, rows[i]!);
    high = Math.max(high, rows[i]!);
  }
  return [low, high];
}

/** The positions of the rows of a span in one batch entry; a batch entry has `count` rows. */
export function positionsOf(
  positions: TokenPositions,
  b: number,
  [from, to]: Span,
  count: number,
): ArrayLike<number> {
  if (positions.start) {
    const start = positions.start[positions.start.length === 1 ? 0 : b]!;
    const numbers = new Int32Array(to - from);
    for (let i = 0; i < numbers.length; i++) numbers[i] = start + from + i;
    return numbers;
  }
  const first = positions.each.length === count ? 0 : b * count; // one row of positions serves the whole batch
  return positions.each.subarray(first + from, first + to);
}
