// The table of queries (DeBERTa's second term; He et al. 2020, 2006.03654): scores += k · queries[distance].
import type { HostCall } from './host-call';
import { type HostTable, tableRow } from './host-tables';
import { dot } from './inner-products';
import type { OfPairs, RowOfTile } from './table-rows';
import type { KeyTile } from './tiles';

/** Products of the keys of a tile with rows of the table. Far distances share a row, so rows of a tile meet them again. */
export interface KeyProducts {
  tile: KeyTile | undefined;
  firstRow: number; // of the head's part of the table
  stamp: number; // of this tile and head
  readonly products: Float64Array; // [columns, R]
  readonly stamps: Int32Array; // [columns, R]: which products are known
}

export function emptyKeyProducts({ tables: { queries }, tile, sizes }: HostCall): KeyProducts {
  // A table without shared rows has one for each distance there is: too many to keep, and none is met twice.
  const size = queries?.index.rows ? Math.min(tile.keys, sizes.Skv) * queries.R : 0;
  return {
    tile: undefined,
    firstRow: 0,
    stamp: 0,
    products: new Float64Array(size),
    stamps: new Int32Array(size),
  };
}

export function addKeyProducts(table: HostTable, at: RowOfTile, found: KeyProducts, pairs: OfPairs): void {
  const { row, tile } = at;
  const { columns, count, numbers } = pairs;
  const { products, stamps } = found;
  const keeps = products.length > 0;
  const D = table.shape[2]!;
  const first = table.firstRow(row.h);
  if (found.tile !== tile || found.firstRow !== first) {
    found.tile = tile;
    found.firstRow = first;
    found.stamp++;
  }
  for (let n = 0; n < count; n++) {
    const column = columns[n]!;
    const r = tableRow(table, tile.positions[column]! - row.position);
    if (r < 0) continue;
    const place = column * table.R + r;
    if (!keeps) {
      numbers[n]! += dot(tile.keyRows[column]!, table.numbers, (first + r) * D);
      continue;
    }
    if (stamps[place] !== found.stamp) {
      stamps[place] = found.stamp;
      products[place] = dot(tile.keyRows[column]!, table.numbers, (first + r) * D);
    }
    numbers[n]! += products[place]!;
  }
}
