// The pairs of one query row and one tile of keys that are visible. Only these are ever computed, so nothing that lies
// in hidden rows, NaN and Infinity too, reaches a result.
import { addBias } from './bias';
import { addBiasTable } from './bias-table';
import type { Call } from './call';
import type { KeyTile } from './key-tile';
import type { Columns } from './products';
import type { QueryRow } from './query-tile';

export interface Pairs extends Columns {
  count: number;
  readonly columns: Int32Array; // within the tile
  readonly added: Float64Array; // bias, and bias of the distance
  readonly scores: Float64Array;
  readonly slopes: Float64Array; // of softcap, where there is one
}

export function emptyPairs({ tile: { keys: size } }: Call): Pairs {
  const numbers = () => new Float64Array(size);
  return { count: 0, columns: new Int32Array(size), added: numbers(), scores: numbers(), slopes: numbers() };
}

export function findVisible(call: Call, row: QueryRow, tile: KeyTile, pairs: Pairs): void {
  fillSpans(row, tile, pairs);
  for (const { numbers, rowAt, perKey } of call.dense) {
    const at = rowAt(row.b, row.h, row.i) + tile.span[0] * perKey;
    keep(pairs, (column) => numbers[at + column * perKey] !== 0);
  }
  const { bias, tables } = call;
  if (!bias && !tables.biasTable) return;
  pairs.added.fill(0, 0, pairs.count);
  if (bias) addBias(bias, { row, tile }, pairs);
  if (tables.biasTable) addBiasTable(tables.biasTable, { row, tile }, pairs);
  leaveOutHidden(pairs);
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

/** A bias of -Infinity hides a pair: leaves it out, with what is added to its score. */
function leaveOutHidden(pairs: Pairs): void {
  const { columns, added } = pairs;
  let count = 0;
  for (let n = 0; n < pairs.count; n++) {
    if (added[n] === -Infinity) continue;
    columns[count] = columns[n]!;
    added[count++] = added[n]!;
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
