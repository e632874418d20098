// Whether a call has tables, and what has to be begun then: with new queries, and with new keys.
import { Call } from './call';
import { beginKeyTableSums } from './key-table';
import { beginLookup } from './lookup';
import { packKeys } from './query-table';
import { copyRows, packRows } from './query-tile';
import { Workspace } from './workspace';
import { forget } from './table-products';
import { beginValueTableSums } from './value-table';

/** Of whatever kind. */
export function hasTables(call: Call): bool {
  return (call.biasTable | call.keyTable | call.queryTable | call.valueTable) !== 0;
}

/** New queries: products with earlier ones are of no use. */
export function beginTables(call: Call, workspace: Workspace): void {
  forget(workspace.keyTableProducts);
  if (call.valueTable !== 0) beginValueTableSums(call, workspace);
}

/** New keys. */
export function beginTile(call: Call, workspace: Workspace, count: i32): void {
  beginLookup(call, workspace, count);
  if (call.queryTable === 0) return;
  forget(workspace.queryTableProducts);
  if (workspace.fewRows === 0) packKeys(call, workspace);
}

/** New queries in the backward pass, `slots` rows. */
export function beginTableGradients(call: Call, workspace: Workspace, slots: i32): void {
  forget(workspace.valueTableProducts);
  beginKeyTableSums(call, workspace);
  if (call.keyTableQuery === 0) return;
  packRows(workspace, call.keyTableQuery, call.D, call.scale, workspace.keyTableQueries);
  copyRows(workspace, call.keyTableQuery, call.D, call.scale, workspace.keyColumns, slots, workspace.keyTableQueryRows);
  memory.fill(workspace.keyTableQueryGradients, 0, ((slots * workspace.keyColumns) as usize) << 2);
}
