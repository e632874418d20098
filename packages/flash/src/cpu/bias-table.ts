// Biases of distances, added to scores after scale and softcap: T5 (Raffel et al. 2019, 1910.10683), ALiBi (Press et al. 2021,
// 2108.12409).
import type { RowOfTile } from './key-tile';
import { type Table, tableRow } from './lookup';
import type { Pairs } from './masks';
import type { OfPairs } from './products';

/** `added[n] += table[distance]` */
export function addBiasTable(table: Table, { row, tile }: RowOfTile, { columns, count, added }: Pairs): void {
  const first = table.firstRow(row.h);
  for (let n = 0; n < count; n++) {
    const r = tableRow(table, tile.positions[columns[n]!]! - row.position);
    if (r >= 0) added[n]! += table.numbers[first + r]!;
  }
}

/** `gradient[distance] += numbers[n]`, the gradients of scores. */
export function addBiasTableGradients(
  table: Table,
  { row, tile }: RowOfTile,
  { columns, count, numbers }: OfPairs,
  gradient: Float64Array,
): void {
  const first = table.firstRow(row.h);
  for (let n = 0; n < count; n++) {
    const r = tableRow(table, tile.positions[columns[n]!]! - row.position);
    if (r >= 0) gradient[first + r]! += numbers[n]!;
  }
}
