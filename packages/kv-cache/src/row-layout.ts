// Where rows lie in a tensor [rows, size]: a row is one token of one head of one batch entry.
import type { CacheShape } from '@polyhead/core';

export interface RowLayout {
  readonly heads: number;
  readonly rows: number; // of the whole tensor
  readonly headStride: number; // rows from one head to the next
  readonly first: readonly number[]; // [B], the first row of head 0
}

/** [B, H, room]: the same room in every batch entry. */
export function equalRoom({ batch, heads }: CacheShape, room: number): RowLayout {
  const first = Array.from({ length: batch }, (_, b) => b * heads * room);
  return { heads, rows: batch * heads * room, headStride: room, first };
}

/** [H, sum of lengths]: room for these tokens and no more, batch entries beside one another in each head. */
export function packed({ heads }: CacheShape, lengths: readonly number[]): RowLayout {
  const first = lengths.map((_, b) => sum(lengths.slice(0, b)));
  const headStride = sum(lengths);
  return { heads, rows: heads * headStride, headStride, first };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
