// The table of queries (DeBERTa's second term; He et al. 2020, 2006.03654): scores += k · queries[distance].
import type { Call } from './call';
import type { KeyTile, RowOfTile } from './key-tile';
import { type Table, tableRow } from './lookup';
import { dot, type OfPairs } from './products';

/** Products of the keys of a tile with rows of the table. Far distances share a row, so rows of a tile meet them again. */
export interface KeyProducts {
  tile: KeyTile | undefined;
  firstRow: number; // of the head's part of the table
  stamp: number; // of this tile and head
  readonly products: Float64Array; // [columns, R]
  readonly stamps: Int32Array; // [columns, R]: which products are known
}

export function emptyKeyProducts({ tables: { queryTable }, tile }: Call): KeyProducts {
  // A table without shared rows has one for each distance there is: too many to keep, and none is met twice.
  const size = queryTable?.index.rows ? tile.keys * queryTable.R : 0;
  return {
    tile: undefined,
    firstRow: 0,
    stamp: 0,
    products: new Float64Array(size),
    stamps: new Int32Array(size),
  };
}

export function addQueryTable(table: Table, at: RowOfTile, known: KeyProducts, pairs: OfPairs): void {
  const { row, tile } = at;
  const { columns, count, numbers } = pairs;
  const { products, stamps } = known;
  const keeps = products.length > 0;
  const D = table.shape[2]!;
  const first = table.firstRow(row.h);
  if (known.tile !== tile || known.firstRow !== first) {
    known.tile = tile;
    known.firstRow = first;
    known.stamp++;
  }
  for (let n = 0; n < count; n++) {
    const column = columns[n]!;
    const r = tableRow(table, tile.positions[column]! - row.position);
    if (r < 0) continue;
    const index = column * table.R + r;
    if (!keeps) {
      numbers[n]! += dot(tile.keyRows[column]!, table.numbers, (first + r) * D);
      continue;
    }
    if (stamps[index] !== known.stamp) {
      stamps[index] = known.stamp;
      products[index] = dot(tile.keyRows[column]!, table.numbers, (first + r) * D);
    }
    numbers[n]! += products[index]!;
  }
}

/** Each pair's part of the gradients of the table and of the key. */
export function addQueryTableGradients(
  table: Table,
  { row, tile }: RowOfTile,
  { columns, count, numbers }: OfPairs,
  { dKeys, dTable }: { readonly dKeys: Float64Array; readonly dTable: Float64Array },
): void {
  const D = table.shape[2]!;
  const first = table.firstRow(row.h);
  for (let n = 0; n < count; n++) {
    const r = tableRow(table, tile.positions[columns[n]!]! - row.position);
    if (r < 0) continue;
    const [key, entry] = [columns[n]! * D, (first + r) * D];
    for (let d = 0; d < D; d++) {
      dTable[entry + d]! += numbers[n]! * tile.keys[key + d]!;
      dKeys[key + d]! += numbers[n]! * table.numbers[entry + d]!;
    }
  }
}
