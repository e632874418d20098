// Rows of a table found by the distance of each pair, and what a query row has to do with them. Distances come back, above
// all where far ones share a row (Shaw et al. 2018, 1803.02155): each product is made once, and weights are summed by row.
import type { HostCall } from './host-call';
import { type HostTable, tableRow } from './host-tables';
import { addRow, addScaled, type Columns, dots } from './inner-products';
import type { KeyTile, QueryRow } from './tiles';

/** One query row and one tile of keys. */
export interface RowOfTile {
  readonly row: QueryRow;
  readonly tile: KeyTile;
}

/** A row, and its products with the rows of a table as far as they are known. */
export interface TableProducts {
  readonly vector: Float64Array; // [N]
  readonly products: Float64Array; // [R]
  readonly known: Uint8Array; // [R]
  readonly room: TableRoom;
}

/** What is looked up for the pairs of one row and tile. */
interface TableRoom {
  readonly rows: Int32Array; // of each pair
  readonly missing: Int32Array; // rows whose products are not known yet
  readonly found: Float64Array; // their products
}

export function emptyRoom({ tile, sizes }: HostCall): TableRoom {
  const size = Math.min(tile.keys, sizes.Skv);
  return { rows: new Int32Array(size), missing: new Int32Array(size), found: new Float64Array(size) };
}

export function emptyProducts(
  table: HostTable | undefined,
  vector: Float64Array,
  room: TableRoom,
): TableProducts {
  const R = table?.R ?? 0;
  return { vector, products: new Float64Array(R), known: new Uint8Array(R), room };
}

/** Numbers of pairs, in the order of their columns. */
export interface OfPairs extends Columns {
  readonly numbers: Float64Array;
}

/** `numbers[n] += vector · table[distance]` */
export function addProducts(
  table: HostTable,
  { row, tile }: RowOfTile,
  { vector, products, known, room }: TableProducts,
  { columns, count, numbers }: OfPairs,
): void {
  const { rows, missing, found } = room;
  let misses = 0;
  for (let n = 0; n < count; n++) {
    const r = tableRow(table, tile.positions[columns[n]!]! - row.position);
    rows[n] = r;
    if (r < 0 || known[r] === 1) continue;
    known[r] = 1;
    missing[misses++] = r;
  }
  dots(vector, table.rowsOf(row.h), { columns: missing, count: misses }, found);
  for (let m = 0; m < misses; m++) products[missing[m]!] = found[m]!;
  for (let n = 0; n < count; n++) if (rows[n]! >= 0) numbers[n]! += products[rows[n]!]!;
}

/** `sums[table row of the distance] += numbers[n]` */
export function sumByRow(
  table: HostTable,
  { row, tile }: RowOfTile,
  { columns, count, numbers }: OfPairs,
  sums: Float64Array,
): void {
  for (let n = 0; n < count; n++) {
    const r = tableRow(table, tile.positions[columns[n]!]! - row.position);
    if (r >= 0) sums[r]! += numbers[n]!;
  }
}

/** `vector += Σ weights[r] · table[r]` */
export function addTable(table: HostTable, h: number, weights: Float64Array, vector: Float64Array): void {
  const first = table.firstRow(h);
  for (let r = 0; r < table.R; r++) {
    if (weights[r] !== 0) addScaled(vector, weights[r]!, table.numbers, (first + r) * vector.length);
  }
}

/** `gradient[r] += weights[r] · vector`, for the rows of one head. */
export function addToTable(
  gradient: Float64Array,
  firstRow: number,
  weights: Float64Array,
  vector: Float64Array,
): void {
  for (let r = 0; r < weights.length; r++) {
    if (weights[r] !== 0) addRow(gradient, (firstRow + r) * vector.length, weights[r]!, vector);
  }
}
