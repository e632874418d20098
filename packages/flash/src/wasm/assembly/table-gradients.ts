// The gradients of the tables, and what goes through them to queries, keys and weights.
import { Call, Gradients, Table } from './call';
import { BIAS_TABLE, KEY_TABLE, lookUp, QUERY_TABLE, VALUE_TABLE } from './lookup';
import { addOuter, addWeighted } from './products';
import { LANES, Panel, panelOf, Room } from './room';
import { addProducts, makeProducts, ofGroup, rangeOf, sumByRow, tableOf } from './tables';

/** Where the gradients of a head's rows begin. */
@inline
function gradientOf(gradient: usize, table: Table, h: i32, bytesOfNumber: i32): usize {
  return gradient + ((h * table.headStride * bytesOfNumber) as usize);
}

/** No gradient of a product has been seen. */
export function beginTableSums(call: Call, room: Room): void {
  if (call.keyTable === 0) return;
  const R = changetype<Table>(call.keyTable).R;
  memory.fill(room.keyTableSums, 0, ((room.panelCount * R * LANES) as usize) << 2);
  for (let p = 0; p < room.panelCount; p++) {
    panelOf(room, p).keyTableFrom = R;
    panelOf(room, p).keyTableTo = 0;
  }
}

/** Biases of distances: sums in doubles, since few of them get the gradients of all pairs. */
export function addTableBiasGradients(call: Call, gradients: Gradients, room: Room, p: i32, scoreGradients: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.biasTable);
  lookUp(call, room, BIAS_TABLE, table, p);
  const to = gradientOf(gradients.biasTable, table, panel.h, 8);
  const count = panel.to - panel.from;
  let entries = room.lookup.at;
  for (let key = 0; key < count; key++, entries += room.lookup.stride, scoreGradients += 32) {
    for (let n: usize = 0; n < 32; n += 4) {
      const row = load<i32>(entries + n);
      if (row < 0) continue;
      const at = to + ((row as usize) << 3);
      store<f64>(at, load<f64>(at) + (load<f32>(scoreGradients + n) as f64));
    }
  }
}

/** Gradients of products of queries with the table of keys, summed by table row. */
export function sumKeyTable(call: Call, room: Room, p: i32, scoreGradients: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.keyTable);
  lookUp(call, room, KEY_TABLE, table, p);
  sumByRow(room, panel.to - panel.from, scoreGradients, ofGroup(room.keyTableSums, table.R, p));
  if (room.lookup.uniform === -1) return;
  panel.keyTableFrom = min(panel.keyTableFrom, room.lookup.from);
  panel.keyTableTo = max(panel.keyTableTo, room.lookup.to);
}

/**
 * From the sums to the gradients of the table and of the queries that it was multiplied with.
 *
 * @param rows those queries, [panels, LANES, keyColumns]
 * @param to their gradients, the same
 */
export function finishKeyTable(call: Call, gradients: Gradients, room: Room, p: i32, rows: usize, to: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.keyTable);
  const first = panel.keyTableFrom;
  const count = panel.keyTableTo - first;
  if (count <= 0) return;
  const sums = ofGroup(room.keyTableSums, table.R, p) + ((first as usize) << 5);
  const stride = (table.width as usize) << 2;
  const place = ((p * LANES) as usize) * stride;
  const entries = (first as usize) * stride;
  addOuter(sums, count, rows + place, table.width, gradientOf(gradients.keyTable, table, panel.h, 4) + entries);
  for (let half: usize = 0; half < 2; half++) {
    const at = to + place + half * 4 * stride;
    addWeighted(sums + (half << 4), tableOf(table, panel) + entries, stride, count, room.ones, at, table.width);
  }
}

/** Gradients of products of keys with the table of queries: to the table and to the keys. */
export function addQueryTableGradients(
  call: Call,
  gradients: Gradients,
  room: Room,
  p: i32,
  scoreGradients: usize,
  toKeys: usize,
): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.queryTable);
  lookUp(call, room, QUERY_TABLE, table, p);
  if (room.lookup.uniform === -1) return;
  const all = room.lookup.at;
  const stride = room.lookup.stride;
  for (let key = panel.from; key < panel.to; ) {
    const group = (key - room.tileFrom) / LANES;
    const end = min(panel.to, room.tileFrom + (group + 1) * LANES);
    rangeOf(room, all + ((key - panel.from) as usize) * stride, end - key);
    const sums = ofGroup(room.queryTableSums, table.R, group);
    for (; key < end; key++) {
      const lane = (((key - room.tileFrom) % LANES) as usize) << 2;
      const entries = all + ((key - panel.from) as usize) * stride;
      const from = scoreGradients + (((key - panel.from) as usize) << 5);
      for (let n: usize = 0; n < 32; n += 4) {
        const row = load<i32>(entries + n);
        if (row < 0) continue;
        const at = sums + ((row as usize) << 5) + lane;
        store<f32>(at, load<f32>(at) + load<f32>(from + n));
      }
    }
    finishKeys(gradients, room, table, panel, group, sums, toKeys);
  }
}

/** From sums of eight keys, [R, LANES], to the gradients of the table and of the keys; the sums become 0 again. */
function finishKeys(gradients: Gradients, room: Room, table: Table, panel: Panel, group: i32, sums: usize, toKeys: usize): void {
  const first = room.lookup.from;
  const count = room.lookup.to - first;
  if (count <= 0) return;
  const stride = (table.width as usize) << 2;
  const from = sums + ((first as usize) << 5);
  const entries = (first as usize) * stride;
  const lanes = min(LANES, room.tileCount - group * LANES);
  const keys = room.paddedKeys + ((group * LANES) as usize) * stride;
  addOuter(from, count, keys, table.width, gradientOf(gradients.queryTable, table, panel.h, 4) + entries);
  memory.fill(room.keySums, 0, (LANES as usize) * stride);
  for (let half: usize = 0; half < 2; half++) {
    const at = room.keySums + half * 4 * stride;
    addWeighted(from + (half << 4), tableOf(table, panel) + entries, stride, count, room.ones, at, table.width);
  }
  const to = toKeys + ((group * LANES) as usize) * stride;
  for (let at: usize = 0; at < (lanes as usize) * stride; at += 16) {
    v128.store(to + at, f32x4.add(v128.load(to + at), v128.load(room.keySums + at)));
  }
  memory.fill(from, 0, (count as usize) << 5);
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
  addOuter(sums, count, rows, table.width, to);
}
