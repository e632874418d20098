// Where tokens stand, as numbers one by one.
import { ShapeError, type TokenPositions } from '@polyhead/core';
import { positionsOf } from '@polyhead/core/kernel';

/**
 * How many batch entries the positions tell apart: 1 or B.
 *
 * @throws ShapeError where they are not of so many batch entries and tokens
 */
export function entriesOf(where: string, at: TokenPositions, [B, S]: readonly [number, number]): number {
  const entries = 'start' in at ? at.start.length : at.each.length / Math.max(S, 1);
  if (entries === 1 || entries === B || S === 0) return Math.max(entries, 1);
  const given = 'start' in at ? at.start : at.each;
  throw new ShapeError(where, 'positions must be [1, S] or [B, S]', {
    B,
    S,
    positions: `${given.length} numbers`,
  });
}

/** [entries, S] */
export function placesOf(at: TokenPositions, entries: number, S: number): Int32Array {
  const places = new Int32Array(entries * S);
  for (let b = 0; b < entries; b++) places.set(positionsOf(at, b, [0, S], S), b * S);
  return places;
}
