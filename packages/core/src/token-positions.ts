import type { Span } from './mask';
import type { Positions, TokenPositions } from './position';

/** The distances key position - query position that can occur between rows of these positions; 0 where there are none. */
export function distancesBetween({ query, key }: Positions, Sq: number, Skv: number): Span {
  if (Sq === 0 || Skv === 0) return [0, 1];
  const [firstQuery, lastQuery] = bounds(query, Sq);
  const [firstKey, lastKey] = bounds(key, Skv);
  return [firstKey - lastQuery, lastKey - firstQuery + 1];
}

/** The smallest and the largest position, both included. */
function bounds(positions: TokenPositions, count: number): readonly [number, number] {
  if ('start' in positions) return [Math.min(...positions.start), Math.max(...positions.start) + count - 1];
  return positions.each.reduce(([low, high], p) => [Math.min(low, p), Math.max(high, p)] as const, [
    Infinity,
    -Infinity,
  ] as readonly [number, number]);
}

/** The positions of the rows of a span in one batch entry; a batch entry has `count` rows. */
export function positionsOf(
  positions: TokenPositions,
  b: number,
  [from, to]: Span,
  count: number,
): ArrayLike<number> {
  if ('start' in positions) {
    const start = positions.start[positions.start.length === 1 ? 0 : b]!;
    return Int32Array.from({ length: to - from }, (_, i) => start + from + i);
  }
  const first = positions.each.length === count ? 0 : b * count; // one row of positions serves the whole batch
  return positions.each.subarray(first + from, first + to);
}
