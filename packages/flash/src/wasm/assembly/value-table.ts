// output += Σ weights · values_d: weights are summed by table row first (Shaw et al. 2018, 1803.02155).
import { Call, Gradients, Table } from './call';
import { lookUp, VALUE_TABLE } from './lookup';
import { addOuterSeen, addWeightedSeen } from './non-finite';
import { LANES, Panel, panelOf, Workspace } from './workspace';
import { addProducts, gradientOf, makeProducts, ofGroup, sumByRow, tableOf } from './table-products';

/** Sums the weights of a panel by row of the table of values, earlier sums rescaled. */
export function sumValueTableWeights(call: Call, workspace: Workspace, p: i32, weights: usize): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.valueTable);
  const sums = ofGroup(workspace.valueTableSums, table.R, p);
  rescale(workspace, panel, p, sums);
  lookUp(call, workspace, VALUE_TABLE, table, p);
  sumByRow(workspace, panel.to - panel.from, weights, sums);
  if (workspace.lookup.uniform === -1) return;
  panel.valueTableFrom = min(panel.valueTableFrom, workspace.lookup.from);
  panel.valueTableTo = max(panel.valueTableTo, workspace.lookup.to);
}

function rescale(workspace: Workspace, panel: Panel, p: i32, sums: usize): void {
  const factors = workspace.factors + (((p * LANES) as usize) << 2);
  const factor0 = v128.load(factors);
  const factor1 = v128.load(factors, 16);
  const one = f32x4.splat(1);
  if (i32x4.all_true(f32x4.eq(factor0, one)) && i32x4.all_true(f32x4.eq(factor1, one))) return;
  const end = sums + ((panel.valueTableTo as usize) << 5);
  for (let at = sums + ((panel.valueTableFrom as usize) << 5); at < end; at += 32) {
    v128.store(at, f32x4.mul(v128.load(at), factor0));
    v128.store(at, f32x4.mul(v128.load(at, 16), factor1), 16);
  }
}

/** No weight has been seen. */
export function beginValueTableSums(call: Call, workspace: Workspace): void {
  const R = changetype<Table>(call.valueTable).R;
  for (let p = 0; p < workspace.panelCount; p++) {
    const panel = panelOf(workspace, p);
    panel.valueTableFrom = R;
    panel.valueTableTo = 0;
  }
  memory.fill(workspace.valueTableSums, 0, ((workspace.panelCount * R * LANES) as usize) << 2);
}

/** Adds the weighted rows of the table of values to the outputs of a panel. */
export function addValueTable(call: Call, workspace: Workspace, p: i32): void {
  const panel = panelOf(workspace, p);
  if (panel.valueTableFrom >= panel.valueTableTo) return;
  const table = changetype<Table>(call.valueTable);
  const stride = (table.width as usize) << 2;
  const rows = tableOf(table, panel) + (panel.valueTableFrom as usize) * stride;
  const weights = ofGroup(workspace.valueTableSums, table.R, p) + ((panel.valueTableFrom as usize) << 5);
  for (let half = 0; half < 2; half++) {
    const to = workspace.outputs + ((((p * LANES + half * 4) * workspace.columns) as usize) << 2);
    const count = panel.valueTableTo - panel.valueTableFrom;
    addWeightedSeen(weights + ((half as usize) << 4), rows, stride, count, workspace.ones, to, workspace.columns);
  }
}

/** Adds the products of gradients of outputs with the table of values to the gradients of weights. */
export function addValueTableProducts(call: Call, workspace: Workspace, p: i32, products: usize): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.valueTable);
  lookUp(call, workspace, VALUE_TABLE, table, p);
  const outputGradients = workspace.outputGradients + (((p * LANES * call.Dv) as usize) << 2);
  makeProducts(workspace, workspace.valueTableProducts, p, tableOf(table, panel), table.width, outputGradients, call.Dv);
  addProducts(workspace, panel.to - panel.from, ofGroup(workspace.valueTableProducts.numbers, table.R, p), products);
}

/** Sums kept weights by row of the table of values. */
export function sumKeptWeights(call: Call, workspace: Workspace, p: i32, weights: usize): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.valueTable);
  lookUp(call, workspace, VALUE_TABLE, table, p);
  sumByRow(workspace, panel.to - panel.from, weights, ofGroup(workspace.valueTableSums, table.R, p));
  if (workspace.lookup.uniform === -1) return;
  panel.valueTableFrom = min(panel.valueTableFrom, workspace.lookup.from);
  panel.valueTableTo = max(panel.valueTableTo, workspace.lookup.to);
}

/** From these sums to the gradient of the table. */
export function finishValueTable(call: Call, gradients: Gradients, workspace: Workspace, p: i32): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.valueTable);
  const first = panel.valueTableFrom;
  const count = panel.valueTableTo - first;
  if (count <= 0) return;
  const sums = ofGroup(workspace.valueTableSums, table.R, p) + ((first as usize) << 5);
  const stride = (table.width as usize) << 2;
  const rows = workspace.outputGradientRows + ((p * LANES) as usize) * stride;
  const to = gradientOf(gradients.valueTable, table, panel.h, 4) + (first as usize) * stride;
  addOuterSeen(sums, count, rows, table.width, to);
}
