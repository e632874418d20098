// The gradients of what is added to scores, and of the table that is dotted with keys.
import type { Gradients } from './backward';
import type { HostCall } from './host-call';
import { type HostTable, tableRow } from './host-tables';
import type { OfPairs, RowOfTile } from './table-rows';

/** @param numbers gradients of scores */
export function addBiasGradients(
  { bias, tables }: HostCall,
  { row, tile }: RowOfTile,
  { columns, count, numbers }: OfPairs,
  gradients: Gradients,
): void {
  if (bias) {
    const at = bias.rowAt(row.b, row.h, row.i) + tile.span[0] * bias.perKey;
    for (let n = 0; n < count; n++) gradients.bias![at + columns[n]! * bias.perKey]! += numbers[n]!;
  }
  if (!tables.bias) return;
  const first = tables.bias.firstRow(row.h);
  for (let n = 0; n < count; n++) {
    const r = tableRow(tables.bias, tile.positions[columns[n]!]! - row.position);
    if (r >= 0) gradients.biasTable![first + r]! += numbers[n]!;
  }
}

/** Each pair's part of the gradients of the table and of the key. */
export function addQueryTableGradients(
  table: HostTable,
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
