// How a call is cut: query rows of all heads that share a key/value head, so that its keys are read once for the group,
// and runs of keys that some of these rows see. Tiles that the mask hides are never visited.
import type { Span } from '@polyhead/core';
import { positionsOf } from '@polyhead/core/kernel';
import type { HostCall } from './host-call';

export interface QueryRow {
  readonly slot: number; // within its tile
  readonly b: number;
  readonly h: number;
  readonly i: number;
  readonly n: number; // among all rows [B, Hq, Sq]
  readonly order: number;
  readonly position: number;
  readonly spans: Int32Array; // visible keys: from, to, from, to, ...
}

export interface RowTile {
  readonly b: number;
  readonly head: number; // of keys and values
  readonly rows: readonly QueryRow[];
}

export interface KeyTile {
  readonly span: Span;
  readonly keys: Float64Array; // [columns, D]
  readonly keyRows: readonly Float64Array[]; // the same, row by row
  readonly values: Float64Array; // [columns, Dv]
  readonly order: ArrayLike<number>; // of each column, where there is dropout
  readonly positions: ArrayLike<number>; // of each column, where there are tables
}

/** The rows of one key/value head of one batch entry, tile after tile. */
export function* rowTiles(call: HostCall, b: number, head: number): Generator<RowTile> {
  const [first, last] = call.only?.rows ?? [0, call.sizes.Sq];
  const heads = headsOf(call, head);
  const count = queriesPerTile(call);
  for (let from = first; from < last && heads.length > 0; from += count) {
    const queries: Span = [from, Math.min(last, from + count)];
    yield { b, head, rows: rowsOf(call, { b, heads, queries }) };
  }
}

/** The most rows that a tile has. */
export function rowsPerTile(call: HostCall): number {
  return call.sizes.G * queriesPerTile(call);
}

/** The query heads that share a key/value head, as far as they are computed. */
function headsOf({ sizes: { G }, only }: HostCall, head: number): readonly number[] {
  const group = Array.from({ length: G }, (_, n) => head * G + n);
  return only ? group.filter((h) => only.heads.includes(h)) : group;
}

function queriesPerTile({ sizes: { G, Sq }, tile }: HostCall): number {
  return Math.min(Sq, Math.max(1, Math.floor(tile.rows / G)));
}

function rowsOf(
  { sizes, plan, order, positions }: HostCall,
  { b, heads, queries }: { readonly b: number; readonly heads: readonly number[]; readonly queries: Span },
): QueryRow[] {
  const { Hq, Sq } = sizes;
  const [planB, planH, , width] = plan.shape;
  const orders = positionsOf(order.query, b, queries, Sq);
  const places = positionsOf(positions.query, b, queries, Sq);
  const rows: QueryRow[] = [];
  for (const h of heads) {
    const planned = ((planB === 1 ? 0 : b) * planH + (planH === 1 ? 0 : h)) * Sq;
    for (let i = queries[0]; i < queries[1]; i++) {
      const at = i - queries[0];
      rows.push({
        slot: rows.length,
        b,
        h,
        i,
        n: (b * Hq + h) * Sq + i,
        order: orders[at]!,
        position: places[at]!,
        spans: plan.spans.subarray((planned + i) * width * 2, (planned + i + 1) * width * 2),
      });
    }
  }
  return rows;
}

/** The keys that some row sees, as far as they lie `within`, in spans of at most `size`. */
export function* visibleSpans(
  rows: readonly QueryRow[],
  size: number,
  within: Span = [0, Infinity],
): Generator<Span> {
  const [first, last] = seenWithin(rows, within);
  for (let from = first; from < last; from += size) {
    const span = seenWithin(rows, [from, Math.min(last, from + size)]);
    if (span[0] < span[1]) yield span;
  }
}

/** From the first to one past the last key of a span that some row sees. */
function seenWithin(rows: readonly QueryRow[], [from, to]: Span): Span {
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

/** Reads the keys and values of a span into room that the next tile reuses. */
export function tileLoader(call: HostCall) {
  const { sizes, tile, keys, values, order, positions, dropout, tables } = call;
  const { D, Dv, Skv } = sizes;
  const size = Math.min(tile.keys, Skv);
  const room = { keys: new Float64Array(size * D), values: new Float64Array(size * Dv) };
  const keyRows = Array.from({ length: size }, (_, n) => room.keys.subarray(n * D, (n + 1) * D));
  return ({ b, head }: RowTile, span: Span): KeyTile => {
    keys.read(b, head, span, room.keys);
    values.read(b, head, span, room.values);
    return {
      ...room,
      keyRows,
      span,
      order: dropout ? positionsOf(order.key, b, span, Skv) : unused,
      positions: Object.keys(tables).length > 0 ? positionsOf(positions.key, b, span, Skv) : unused,
    };
  };
}
