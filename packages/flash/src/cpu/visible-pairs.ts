// The pairs of one query row and one tile of keys that are visible. Only these are ever computed, so nothing that lies
// in hidden rows, NaN and Infinity too, reaches a result.
import type { HostCall } from './host-call';
import { tableRow } from './host-tables';
import type { Columns } from './inner-products';
import type { KeyTile, QueryRow } from './tiles';

export interface Pairs extends Columns {
  count: number;
  readonly columns: Int32Array; // within the tile
  readonly added: Float64Array; // bias, and bias of the distance
  readonly scores: Float64Array;
  readonly slopes: Float64Array; // of softcap, where there is one
}

export function emptyPairs({ tile, sizes }: HostCall): Pairs {
  const size = Math.min(tile.keys, sizes.Skv);
  const numbers = () => new Float64Array(size);
  return { count: 0, columns: new Int32Array(size), added: numbers(), scores: numbers(), slopes: numbers() };
}

export function findVisible(call: HostCall, row: QueryRow, tile: KeyTile, pairs: Pairs): void {
  fillSpans(row, tile, pairs);
  for (const { numbers, rowAt, perKey } of call.dense) {
    const at = rowAt(row.b, row.h, row.i) + tile.span[0] * perKey;
    keep(pairs, (column) => numbers[at + column * perKey] !== 0);
  }
  if (call.bias || call.tables.bias) addBiases(call, row, tile, pairs);
}

function fillSpans({ spans }: QueryRow, { span: [from, to] }: KeyTile, pairs: Pairs): void {
  let count = 0;
  for (let n = 0; n < spans.length; n += 2) {
    const end = Math.min(to, spans[n + 1]!) - from;
    for (let column = Math.max(from, spans[n]!) - from; column < end; column++) {
      pairs.columns[count++] = column;
    }
  }
  pairs.count = count;
}

/** A bias of -Infinity hides a pair. */
function addBiases({ bias, tables }: HostCall, row: QueryRow, tile: KeyTile, pairs: Pairs): void {
  const { columns, added } = pairs;
  const at = bias ? bias.rowAt(row.b, row.h, row.i) + tile.span[0] * bias.perKey : 0;
  const first = tables.bias?.firstRow(row.h) ?? 0;
  let count = 0;
  for (let n = 0; n < pairs.count; n++) {
    const column = columns[n]!;
    let sum = bias ? bias.numbers[at + column * bias.perKey]! : 0;
    if (tables.bias) {
      const r = tableRow(tables.bias, tile.positions[column]! - row.position);
      if (r >= 0) sum += tables.bias.numbers[first + r]!;
    }
    if (sum === -Infinity) continue;
    columns[count] = column;
    added[count++] = sum;
  }
  pairs.count = count;
}

function keep(pairs: Pairs, isVisible: (column: number) => boolean): void {
  let count = 0;
  for (let n = 0; n < pairs.count; n++) {
    const column = pairs.columns[n]!;
    if (isVisible(column)) pairs.columns[count++] = column;
  }
  pairs.count = count;
}
