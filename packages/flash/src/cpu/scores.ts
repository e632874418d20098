// scores = softcap(scale · (q·k + q·keys_d + k·queries_d)) + bias + bias_d, for the visible pairs of one row and tile.
import type { Call } from './call';
import { addKeyTable } from './key-table';
import type { RowOfTile } from './key-tile';
import type { Pairs } from './masks';
import { dots } from './products';
import { addQueryTable } from './query-table';
import type { RowQuery } from './query-tile';

export function scorePairs(call: Call, at: RowOfTile, query: RowQuery, pairs: Pairs): void {
  const { scale, softcap, tables, bias } = call;
  const { scores, added, slopes, columns, count } = pairs;
  dots(query.query, at.tile.keys, pairs, scores);
  const ofPairs = { columns, count, numbers: scores };
  if (tables.keyTable) addKeyTable(tables.keyTable, at, query, ofPairs);
  if (tables.queryTable) addQueryTable(tables.queryTable, at, query.keyProducts, ofPairs);
  for (let n = 0; n < count; n++) scores[n]! *= scale;
  if (softcap !== 0) {
    for (let n = 0; n < count; n++) {
      const tanh = Math.tanh(scores[n]! / softcap);
      slopes[n] = 1 - tanh * tanh;
      scores[n] = softcap * tanh;
    }
  }
  if (bias || tables.biasTable) for (let n = 0; n < count; n++) scores[n]! += added[n]!;
}
