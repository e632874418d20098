// output += Σ weights · values_d: weights are summed by table row first (Shaw et al. 2018, 1803.02155).
import { Call, Gradients, Table } from './call';
import { lookUp, VALUE_TABLE } from './lookup';
import { addOuterSeen, addWeightedSeen } from './non-finite';
import { LANES, Panel, panelOf, Room } from './room';
import { addProducts, gradientOf, makeProducts, ofGroup, sumByRow, tableOf } from './table-products';

/** Sums the weights of a panel by row of the table of values, earlier sums rescaled. */
export function sumTableWeights(call: Call, room: Room, p: i32, weights: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.valueTable);
  const sums = ofGroup(room.tableWeights, table.R, p);
  rescale(room, panel, p, sums);
  lookUp(call, room, VALUE_TABLE, table, p);
  sumByRow(room, panel.to - panel.from, weights, sums);
  if (room.lookup.uniform === -1) return;
  panel.tableFrom = min(panel.tableFrom, room.lookup.from);
  panel.tableTo = max(panel.tableTo, room.lookup.to);
}

function rescale(room: Room, panel: Panel, p: i32, sums: usize): void {
  const factors = room.factors + (((p * LANES) as usize) << 2);
  const factor0 = v128.load(factors);
  const factor1 = v128.load(factors, 16);
  const one = f32x4.splat(1);
  if (i32x4.all_true(f32x4.eq(factor0, one)) && i32x4.all_true(f32x4.eq(factor1, one))) return;
  const end = sums + ((panel.tableTo as usize) << 5);
  for (let at = sums + ((panel.tableFrom as usize) << 5); at < end; at += 32) {
    v128.store(at, f32x4.mul(v128.load(at), factor0));
    v128.store(at, f32x4.mul(v128.load(at, 16), factor1), 16);
  }
}

/** No weight has been seen. */
export function beginTableWeights(call: Call, room: Room): void {
  const R = changetype<Table>(call.valueTable).R;
  for (let p = 0; p < room.panelCount; p++) {
    const panel = panelOf(room, p);
    panel.tableFrom = R;
    panel.tableTo = 0;
  }
  memory.fill(room.tableWeights, 0, ((room.panelCount * R * LANES) as usize) << 2);
}

/** Adds the weighted rows of the table of values to the outputs of a panel. */
export function addTableValues(call: Call, room: Room, p: i32): void {
  const panel = panelOf(room, p);
  if (panel.tableFrom >= panel.tableTo) return;
  const table = changetype<Table>(call.valueTable);
  const stride = (table.width as usize) << 2;
  const rows = tableOf(table, panel) + (panel.tableFrom as usize) * stride;
  const weights = ofGroup(room.tableWeights, table.R, p) + ((panel.tableFrom as usize) << 5);
  for (let half = 0; half < 2; half++) {
    const to = room.outputs + ((((p * LANES + half * 4) * room.columns) as usize) << 2);
    const count = panel.tableTo - panel.tableFrom;
    addWeightedSeen(weights + ((half as usize) << 4), rows, stride, count, room.ones, to, room.columns);
  }
}

/** Adds the products of gradients of outputs with the table of values to the gradients of weights. */
export function addValueProducts(call: Call, room: Room, p: i32, products: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.valueTable);
  lookUp(call, room, VALUE_TABLE, table, p);
  const outputGradients = room.outputGradients + (((p * LANES * call.Dv) as usize) << 2);
  makeProducts(room, room.valueProducts, p, tableOf(table, panel), table.width, outputGradients, call.Dv);
  addProducts(room, panel.to - panel.from, ofGroup(room.valueProducts.numbers, table.R, p), products);
}

/** Sums kept weights by row of the table of values. */
export function sumValueTable(call: Call, room: Room, p: i32, weights: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.valueTable);
  lookUp(call, room, VALUE_TABLE, table, p);
  sumByRow(room, panel.to - panel.from, weights, ofGroup(room.tableWeights, table.R, p));
  if (room.lookup.uniform === -1) return;
  panel.tableFrom = min(panel.tableFrom, room.lookup.from);
  panel.tableTo = max(panel.tableTo, room.lookup.to);
}

/** From these sums to the gradient of the table. */
export function finishValueTable(call: Call, gradients: Gradients, room: Room, p: i32): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.valueTable);
  const first = panel.tableFrom;
  const count = panel.tableTo - first;
  if (count <= 0) return;
  const sums = ofGroup(room.tableWeights, table.R, p) + ((first as usize) << 5);
  const stride = (table.width as usize) << 2;
  const rows = room.outputGradientRows + ((p * LANES) as usize) * stride;
  const to = gradientOf(gradients.valueTable, table, panel.h, 4) + (first as usize) * stride;
  addOuterSeen(sums, count, rows, table.width, to);
}
