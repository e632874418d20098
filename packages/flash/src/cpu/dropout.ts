// Dropout: which weights are kept depends on seed, batch entry, head and token order only, so every pass draws the same.
import { dropoutKeeps, dropoutRow } from '@polyhead/core/kernel';
import type { Call } from './call';
import type { RowOfTile } from './key-tile';
import type { Columns } from './products';

/** Writes 0, or 1 / (1 - rate), for each pair: what dropout multiplies its weight by. */
export function dropoutFactors(
  { rate, seed }: NonNullable<Call['dropout']>,
  { row, tile }: RowOfTile,
  { columns, count }: Columns,
  factors: Float64Array,
): void {
  const draws = dropoutRow(seed, row.b, row.h, row.order);
  const kept = 1 / (1 - rate);
  for (let n = 0; n < count; n++) {
    factors[n] = dropoutKeeps(draws, tile.order[columns[n]!]!, rate) ? kept : 0;
  }
}
