// scores += scale · q·keys_d: products of queries, or of queries of their own, with rows looked up by distance (Shaw et al. 2018,
// 1803.02155; Dai et al. 2019, 1901.02860).
import { Call, Gradients, Table } from './call';
import { KEY_TABLE, lookUp } from './lookup';
import { addOuterSeen, addWeightedSeen } from './non-finite';
import { LANES, panelOf, Workspace } from './workspace';
import { addProducts, gradientOf, makeProducts, ofGroup, sumByRow, tableOf } from './table-products';

/** Adds the products of queries, or of queries of their own, with the table of keys. */
export function addKeyTable(call: Call, workspace: Workspace, p: i32, scores: usize): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.keyTable);
  lookUp(call, workspace, KEY_TABLE, table, p);
  const queries = workspace.keyTableQueries + (((p * LANES * call.D) as usize) << 2);
  makeProducts(workspace, workspace.keyTableProducts, p, tableOf(table, panel), table.width, queries, call.D);
  addProducts(workspace, panel.to - panel.from, ofGroup(workspace.keyTableProducts.numbers, table.R, p), scores);
}

/** No gradient of a product has been seen. */
export function beginKeyTableSums(call: Call, workspace: Workspace): void {
  if (call.keyTable === 0) return;
  const R = changetype<Table>(call.keyTable).R;
  memory.fill(workspace.keyTableSums, 0, ((workspace.panelCount * R * LANES) as usize) << 2);
  for (let p = 0; p < workspace.panelCount; p++) {
    panelOf(workspace, p).keyTableFrom = R;
    panelOf(workspace, p).keyTableTo = 0;
  }
}

/** Gradients of products of queries with the table of keys, summed by table row. */
export function sumKeyTable(call: Call, workspace: Workspace, p: i32, scoreGradients: usize): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.keyTable);
  lookUp(call, workspace, KEY_TABLE, table, p);
  sumByRow(workspace, panel.to - panel.from, scoreGradients, ofGroup(workspace.keyTableSums, table.R, p));
  if (workspace.lookup.uniform === -1) return;
  panel.keyTableFrom = min(panel.keyTableFrom, workspace.lookup.from);
  panel.keyTableTo = max(panel.keyTableTo, workspace.lookup.to);
}

/**
 * From the sums to the gradients of the table and of the queries that it was multiplied with.
 *
 * @param rows those queries, [panels, LANES, keyColumns]
 * @param to their gradients, the same
 */
export function finishKeyTable(
  call: Call,
  gradients: Gradients,
  workspace: Workspace,
  p: i32,
  rows: usize,
  to: usize,
): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.keyTable);
  const first = panel.keyTableFrom;
  const count = panel.keyTableTo - first;
  if (count <= 0) return;
  const sums = ofGroup(workspace.keyTableSums, table.R, p) + ((first as usize) << 5);
  const stride = (table.width as usize) << 2;
  const offset = ((p * LANES) as usize) * stride;
  const entries = (first as usize) * stride;
  addOuterSeen(
    sums,
    count,
    rows + offset,
    table.width,
    gradientOf(gradients.keyTable, table, panel.h, 4) + entries,
  );
  for (let half: usize = 0; half < 2; half++) {
    const at = to + offset + half * 4 * stride;
    addWeightedSeen(
      sums + (half << 4),
      tableOf(table, panel) + entries,
      stride,
      count,
      workspace.ones,
      at,
      table.width,
    );
  }
}
