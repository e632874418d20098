// How the queries of a call are cut: rows of all heads that share a key/value head, so that its keys are read once for the
// group.
import type { Span } from '@polyhead/core';
import { positionsOf } from '@polyhead/core/kernel';
import type { Call } from './call';
import { emptyKeyProducts, type KeyProducts } from './query-table';
import { emptyProducts, lookupBuffers, type TableProducts } from './table-products';

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

export interface QueryTile {
  readonly b: number;
  readonly head: number; // of keys and values
  readonly queries: Span;
  readonly rows: readonly QueryRow[];
}

/** The rows of one key/value head of one batch entry, tile after tile. */
export function* queryTiles(call: Call, b: number, head: number): Generator<QueryTile> {
  const [first, last] = call.only?.rows ?? [0, call.sizes.Sq];
  const heads = headsOf(call, head);
  const count = queriesPerTile(call);
  for (let from = first; from < last && heads.length > 0; from += count) {
    const queries: Span = [from, Math.min(last, from + count)];
    yield { b, head, queries, rows: rowsOf(call, { b, heads, queries }) };
  }
}

/** The most rows that a tile has. */
export function rowsPerTile(call: Call): number {
  return call.G * queriesPerTile(call);
}

/** The query heads that share a key/value head, as far as they are computed. */
function headsOf({ G, only }: Call, head: number): readonly number[] {
  const group = Array.from({ length: G }, (_, n) => head * G + n);
  return only ? group.filter((h) => only.heads.includes(h)) : group;
}

function queriesPerTile({ G, sizes: { Sq }, tile }: Call): number {
  return Math.min(Sq, Math.max(1, Math.floor(tile.rows / G)));
}

function rowsOf(
  { sizes, plan, order, positions }: Call,
  { b, heads, queries }: { readonly b: number; readonly heads: readonly number[]; readonly queries: Span },
): QueryRow[] {
  const { Hq, Sq } = sizes;
  const [planB, planH, , width] = plan.shape;
  const orders = positionsOf(order.query, b, queries, Sq);
  const ownPositions = positionsOf(positions.query, b, queries, Sq);
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
        position: ownPositions[at]!,
        spans: plan.spans.subarray((planned + i) * width * 2, (planned + i + 1) * width * 2),
      });
    }
  }
  return rows;
}

/** The query of one row of a tile. */
export interface RowQuery {
  readonly query: Float64Array; // [D]
  /** What the table of keys is dotted with: a query of its own (Transformer-XL), or the query. */
  readonly forKeyTable: TableProducts;
  /** All rows of a tile share these. */
  readonly keyProducts: KeyProducts;
}

export function emptyRowQueries(call: Call): readonly RowQuery[] {
  const { sizes, tables } = call;
  const keyProducts = emptyKeyProducts(call);
  const buffers = lookupBuffers(call);
  return Array.from({ length: rowsPerTile(call) }, () => {
    const query = new Float64Array(sizes.D);
    const own = tables.keyTableQuery ? new Float64Array(sizes.D) : query;
    return { query, forKeyTable: emptyProducts(tables.keyTable, own, buffers), keyProducts };
  });
}

export function readQuery({ query, tables }: Call, row: QueryRow, to: RowQuery): void {
  readRow(query, row, to.query);
  if (tables.keyTableQuery) readRow(tables.keyTableQuery, row, to.forKeyTable.vector);
  to.forKeyTable.known.fill(0);
}

function readRow(numbers: ArrayLike<number>, { n }: QueryRow, to: Float64Array): void {
  const size = to.length;
  for (let d = 0; d < size; d++) to[d] = numbers[n * size + d]!;
}
