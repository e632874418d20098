// scores = softcap(scale · (q·k + q·keys_d + k·queries_d)) + bias + bias_d, for the visible pairs of one row and tile.
import type { HostCall } from './host-call';
import { dots } from './inner-products';
import { addKeyProducts } from './query-table';
import type { RowQuery } from './row-queries';
import { addProducts, type RowOfTile } from './table-rows';
import type { Pairs } from './visible-pairs';

export function scorePairs(call: HostCall, at: RowOfTile, query: RowQuery, pairs: Pairs): void {
  const { scale, softcap, tables, bias } = call;
  const { scores, added, slopes, columns, count } = pairs;
  dots(query.query, at.tile.keys, pairs, scores);
  const ofPairs = { columns, count, numbers: scores };
  if (tables.keys) addProducts(tables.keys, at, query.forTable, ofPairs);
  if (tables.queries) addKeyProducts(tables.queries, at, query.keyProducts, ofPairs);
  for (let n = 0; n < count; n++) scores[n]! *= scale;
  if (softcap !== 0) {
    for (let n = 0; n < count; n++) {
      const tanh = Math.tanh(scores[n]! / softcap);
      slopes[n] = 1 - tanh * tanh;
      scores[n] = softcap * tanh;
    }
  }
  if (bias || tables.bias) for (let n = 0; n < count; n++) scores[n]! += added[n]!;
}
