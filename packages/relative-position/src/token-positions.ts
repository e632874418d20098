// Where tokens are, as numbers one by one, and how far apart.
import type { Span, TokenPositions } from '@polyhead/core';
import { positionsOf } from '@polyhead/core/kernel';

/** How many batch entries the positions tell apart: 1 or B. They have been checked. */
export function entriesOf(at: TokenPositions, S: number): number {
  const entries = at.start ? at.start.length : at.each.length / Math.max(S, 1);
  return Math.max(entries, 1);
}

/** The position of each token, row by row: [entries, S]. */
export function numbersOf(at: TokenPositions, entries: number, S: number): Int32Array {
  const numbers = new Int32Array(entries * S);
  for (let b = 0; b < entries; b++) numbers.set(positionsOf(at, b, [0, S], S), b * S);
  return numbers;
}

/** Distances up to powers of two: what is made for these serves calls of a few tokens more. */
export function widened([from, to]: Span): Span {
  return [-powerFrom(-from), powerFrom(to)];
}

/** The smallest power of two from n on; n itself where it is 0 or below. */
function powerFrom(n: number): number {
  return n > 0 ? 2 ** Math.ceil(Math.log2(n)) : n;
}
