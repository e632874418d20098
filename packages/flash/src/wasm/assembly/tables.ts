// What has to be begun where there are tables: with new queries, and with new keys.
import { Call } from './call';
import { beginTableSums } from './key-table';
import { beginLookup } from './lookup';
import { packKeys } from './query-table';
import { copyRows, packRows } from './query-rows';
import { Room } from './room';
import { forget } from './table-products';
import { beginTableWeights } from './value-table';

/** New queries: products with earlier ones are of no use. */
export function beginTables(call: Call, room: Room): void {
  forget(room.keyProducts);
  if (call.valueTable !== 0) beginTableWeights(call, room);
}

/** New keys. */
export function beginTile(call: Call, room: Room, count: i32): void {
  beginLookup(call, room, count);
  if (call.queryTable === 0) return;
  forget(room.queryProducts);
  if (room.few === 0) packKeys(call, room);
}

/** New queries in the backward pass, `slots` rows. */
export function beginTableGradients(call: Call, room: Room, slots: i32): void {
  forget(room.valueProducts);
  beginTableSums(call, room);
  if (call.keyTableQuery === 0) return;
  packRows(room, call.keyTableQuery, call.D, call.D, call.scale, room.tableQueries);
  copyRows(room, call.keyTableQuery, call.D, call.D, call.scale, room.keyColumns, slots, room.tableQueryRows);
  memory.fill(room.tableQueryGradients, 0, ((slots * room.keyColumns) as usize) << 2);
}
