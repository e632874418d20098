// Tiles of keys and values that some of the rows of a query tile see. What the mask hides from all of them is not visited.
import type { Span } from '@polyhead/core';
import { positionsOf } from '@polyhead/core/kernel';
import type { Call } from './call';
import type { QueryRow, QueryTile } from './query-tile';

export interface KeyTile {
  readonly span: Span;
  readonly keys: Float64Array; // [columns, D]
  readonly keyRows: readonly Float64Array[]; // the same, row by row
  readonly values: Float64Array; // [columns, Dv]
  readonly order: ArrayLike<number>; // of each column, where there is dropout
  readonly positions: ArrayLike<number>; // of each column, where there are tables
}

/** One query row and one tile of keys. */
export interface RowOfTile {
  readonly row: QueryRow;
  readonly tile: KeyTile;
}

/** The keys that some row sees, as far as they lie `within`, in spans of at most a tile. */
export function* visibleSpans(
  { plan, tile: { keys: size } }: Call,
  { b, queries, rows }: QueryTile,
  within: Span = [0, Infinity],
): Generator<Span> {
  const [first, end] = plan.visibleKeys({ batch: [b, b + 1], rows: queries });
  const last = Math.min(end, within[1]);
  for (let from = Math.max(first, within[0]); from < last; from += size) {
    const span = visibleWithin(rows, [from, Math.min(last, from + size)]);
    if (span[0] < span[1]) yield span;
  }
}

/** From the first to one past the last key of a span that some row sees. */
function visibleWithin(rows: readonly QueryRow[], [from, to]: Span): Span {
  let [first, last] = [Infinity, 0];
  for (const { spans } of rows) {
    for (let n = 0; n < spans.length; n += 2) {
      const [begin, end] = [Math.max(from, spans[n]!), Math.min(to, spans[n + 1]!)];
      if (begin >= end) continue;
      first = Math.min(first, begin);
      last = Math.max(last, end);
    }
  }
  return [first, last];
}

const unused: ArrayLike<number> = [];

/** Reads the keys and values of a span into arrays that the next tile reuses. */
export function keyTileLoader(call: Call) {
  const { sizes, tile, keys, values, order, positions, dropout, tables } = call;
  const { D, Dv, Skv } = sizes;
  const size = Math.min(tile.keys, Skv);
  const rows = { keys: new Float64Array(size * D), values: new Float64Array(size * Dv) };
  const keyRows = Array.from({ length: size }, (_, n) => rows.keys.subarray(n * D, (n + 1) * D));
  return ({ b, head }: QueryTile, span: Span): KeyTile => {
    keys.read(b, head, span, rows.keys);
    values.read(b, head, span, rows.values);
    return {
      ...rows,
      keyRows,
      span,
      order: dropout ? positionsOf(order.key, b, span, Skv) : unused,
      positions: Object.keys(tables).length > 0 ? positionsOf(positions.key, b, span, Skv) : unused,
    };
  };
}
