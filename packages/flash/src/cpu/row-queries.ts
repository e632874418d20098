import type { HostCall } from './host-call';
import { emptyKeyProducts, type KeyProducts } from './query-table';
import { emptyProducts, emptyRoom, type TableProducts } from './table-rows';
import { type QueryRow, rowsPerTile } from './tiles';

/** The query of one row of a tile. */
export interface RowQuery {
  readonly query: Float64Array; // [D]
  /** What the table of keys is dotted with: a query of its own (Transformer-XL), or the query. */
  readonly forTable: TableProducts;
  /** All rows of a tile share these. */
  readonly keyProducts: KeyProducts;
}

export function emptyRowQueries(call: HostCall): readonly RowQuery[] {
  const { sizes, tables } = call;
  const keyProducts = emptyKeyProducts(call);
  const room = emptyRoom(call);
  return Array.from({ length: rowsPerTile(call) }, () => {
    const query = new Float64Array(sizes.D);
    const own = tables.keysQuery ? new Float64Array(sizes.D) : query;
    return { query, forTable: emptyProducts(tables.keys, own, room), keyProducts };
  });
}

export function readQuery({ query, tables }: HostCall, row: QueryRow, to: RowQuery): void {
  readRow(query, row, to.query);
  if (tables.keysQuery) readRow(tables.keysQuery, row, to.forTable.vector);
  to.forTable.known.fill(0);
}

function readRow(numbers: ArrayLike<number>, { n }: QueryRow, to: Float64Array): void {
  const size = to.length;
  for (let d = 0; d < size; d++) to[d] = numbers[n * size + d]!;
}
