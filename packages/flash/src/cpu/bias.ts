// The bias, added to scores after scale and softcap. One of -Infinity hides its pair.
import type { Broadcast } from './call';
import type { RowOfTile } from './key-tile';
import type { Pairs } from './masks';
import type { OfPairs } from './products';

/** `added[n] += bias of the pair` */
export function addBias({ numbers, rowAt, perKey }: Broadcast, { row, tile }: RowOfTile, pairs: Pairs): void {
  const { columns, count, added } = pairs;
  const at = rowAt(row.b, row.h, row.i) + tile.span[0] * perKey;
  for (let n = 0; n < count; n++) added[n]! += numbers[at + columns[n]! * perKey]!;
}

/** The gradient of a bias is the sum of those of its scores. */
export function addBiasGradients(
  { rowAt, perKey }: Broadcast,
  { row, tile }: RowOfTile,
  { columns, count, numbers }: OfPairs,
  gradient: Float64Array,
): void {
  const at = rowAt(row.b, row.h, row.i) + tile.span[0] * perKey;
  for (let n = 0; n < count; n++) gradient[at + columns[n]! * perKey]! += numbers[n]!;
}
