// Products of a row with rows of a table, looked up by the distance of each pair, and sums by table row. Distances come back, above
// all where far ones share a row (Shaw et al. 2018, 1803.02155): each product is made once, and weights are summed by row.
import type { Call } from './call';
import type { RowOfTile } from './key-tile';
import { type Table, tableRow } from './lookup';
import { addRow, addScaled, dots, type OfPairs } from './products';

/** A row, and its products with the rows of a table as far as they are known. */
export interface TableProducts {
  readonly vector: Float64Array; // [N]
  readonly products: Float64Array; // [R]
  readonly known: Uint8Array; // [R]
  readonly buffers: LookupBuffers;
}

/** What is looked up for the pairs of one row and tile. */
interface LookupBuffers {
  readonly rows: Int32Array; // of each pair
  readonly missing: Int32Array; // rows whose products are not known yet
  readonly missingProducts: Float64Array; // their products
}

export function lookupBuffers({ tile: { keys: size } }: Call): LookupBuffers {
  return {
    rows: new Int32Array(size),
    missing: new Int32Array(size),
    missingProducts: new Float64Array(size),
  };
}

export function emptyProducts(
  table: Table | undefined,
  vector: Float64Array,
  buffers: LookupBuffers,
): TableProducts {
  const R = table?.R ?? 0;
  return { vector, products: new Float64Array(R), known: new Uint8Array(R), buffers };
}

/** `numbers[n] += vector · table[distance]` */
export function addProducts(
  table: Table,
  { row, tile }: RowOfTile,
  { vector, products, known, buffers }: TableProducts,
  { columns, count, numbers }: OfPairs,
): void {
  const { rows, missing, missingProducts } = buffers;
  let misses = 0;
  for (let n = 0; n < count; n++) {
    const r = tableRow(table, tile.positions[columns[n]!]! - row.position);
    rows[n] = r;
    if (r < 0 || known[r] === 1) continue;
    known[r] = 1;
    missing[misses++] = r;
  }
  dots(vector, table.rowsOf(row.h), { columns: missing, count: misses }, missingProducts);
  for (let m = 0; m < misses; m++) products[missing[m]!] = missingProducts[m]!;
  for (let n = 0; n < count; n++) if (rows[n]! >= 0) numbers[n]! += products[rows[n]!]!;
}

/** `sums[table row of the distance] += numbers[n]` */
export function sumByRow(
  table: Table,
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
export function addTable(table: Table, h: number, weights: Float64Array, vector: Float64Array): void {
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
