// scores += scale · k·queries_d: products of keys with rows looked up by distance (He et al. 2020, 2006.03654).
import { Call, Gradients, Table } from './call';
import { lookUp, QUERY_TABLE } from './lookup';
import { addOuterSeen, addWeightedSeen } from './non-finite';
import { LANES, Panel, panelOf, Workspace } from './workspace';
import { dot, forget, gradientOf, lanesOf, makeProducts, ofGroup, rangeOf, tableOf } from './table-products';

/** Writes the keys of a tile as [keys / LANES, D, LANES]. */
export function packKeys(call: Call, workspace: Workspace): void {
  for (let key = 0; key < ((workspace.tileCount + LANES - 1) & ~(LANES - 1)); key++) {
    const from = workspace.keys + (key as usize) * workspace.keyStride;
    const lane = ((key % LANES) as usize) << 2;
    let to = workspace.keyPanels + ((((key / LANES) * call.D * LANES) as usize) << 2) + lane;
    for (let d: usize = 0; d < (call.D as usize); d++, to += LANES << 2) {
      store<f32>(to, key < workspace.tileCount ? load<f32>(from + (d << 2)) : 0);
    }
  }
}

/** Adds the products of keys with the table of queries. */
export function addQueryTable(call: Call, workspace: Workspace, p: i32, scores: usize): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.queryTable);
  if (workspace.fewRows !== 0) {
    addQueryTableToFew(call, workspace, p, scores);
    return;
  }
  lookUp(call, workspace, QUERY_TABLE, table, p);
  if (workspace.lookup.uniform === -1) return;
  const rows = tableOf(table, panel);
  if (table.headStride !== 0 && workspace.queryTableHead !== panel.h) {
    forget(workspace.queryTableProducts);
    workspace.queryTableHead = panel.h;
  }
  const all = workspace.lookup.at;
  for (let key = panel.from; key < panel.to; ) {
    const group = (key - workspace.tileFrom) / LANES;
    const end = min(panel.to, workspace.tileFrom + (group + 1) * LANES);
    const first = all + ((key - panel.from) as usize) * workspace.lookup.stride;
    rangeOf(workspace, first, end - key);
    const keys = workspace.keyPanels + (((group * call.D * LANES) as usize) << 2);
    makeProducts(workspace, workspace.queryTableProducts, group, rows, table.width, keys, call.D);
    const products = ofGroup(workspace.queryTableProducts.numbers, table.R, group);
    for (; key < end; key++) {
      const lane = (((key - workspace.tileFrom) % LANES) as usize) << 2;
      const at = scores + (((key - panel.from) as usize) << 5);
      const entries = all + ((key - panel.from) as usize) * workspace.lookup.stride;
      for (let n: usize = 0; n < 32; n += 4) {
        const row = load<i32>(entries + n);
        if (row < 0) continue;
        const product = load<f32>(products + ((row as usize) << 5) + lane) * call.scale;
        store<f32>(at + n, load<f32>(at + n) + product);
      }
    }
  }
}

/** A few queries meet each key in few distances: each product is made where it is needed. */
function addQueryTableToFew(call: Call, workspace: Workspace, p: i32, scores: usize): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.queryTable);
  lookUp(call, workspace, QUERY_TABLE, table, p);
  const rows = tableOf(table, panel);
  const lanes = (lanesOf(workspace) as usize) << 2;
  for (let key = panel.from; key < panel.to; key++) {
    const offset = (key - panel.from) as usize;
    const keyAt = workspace.keys + ((key - workspace.tileFrom) as usize) * workspace.keyStride;
    for (let lane: usize = 0; lane < lanes; lane += 4) {
      const row = load<i32>(workspace.lookup.at + offset * workspace.lookup.stride + lane);
      if (row < 0) continue;
      const at = scores + (offset << 5) + lane;
      const product = dot(keyAt, rows + (((row * table.width) as usize) << 2), call.D) * call.scale;
      store<f32>(at, load<f32>(at) + product);
    }
  }
}

/** Gradients of products of keys with the table of queries: to the table and to the keys. */
export function addQueryTableGradients(
  call: Call,
  gradients: Gradients,
  workspace: Workspace,
  p: i32,
  scoreGradients: usize,
  toKeys: usize,
): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.queryTable);
  lookUp(call, workspace, QUERY_TABLE, table, p);
  if (workspace.lookup.uniform === -1) return;
  const all = workspace.lookup.at;
  const stride = workspace.lookup.stride;
  for (let key = panel.from; key < panel.to; ) {
    const group = (key - workspace.tileFrom) / LANES;
    const end = min(panel.to, workspace.tileFrom + (group + 1) * LANES);
    rangeOf(workspace, all + ((key - panel.from) as usize) * stride, end - key);
    const sums = ofGroup(workspace.queryTableSums, table.R, group);
    for (; key < end; key++) {
      const lane = (((key - workspace.tileFrom) % LANES) as usize) << 2;
      const entries = all + ((key - panel.from) as usize) * stride;
      const from = scoreGradients + (((key - panel.from) as usize) << 5);
      for (let n: usize = 0; n < 32; n += 4) {
        const row = load<i32>(entries + n);
        if (row < 0) continue;
        const at = sums + ((row as usize) << 5) + lane;
        store<f32>(at, load<f32>(at) + load<f32>(from + n));
      }
    }
    finishKeys(call, gradients, workspace, panel, group, sums, toKeys);
  }
}

/** From sums of eight keys, [R, LANES], to the gradients of the table and of the keys; the sums become 0 again. */
function finishKeys(
  call: Call,
  gradients: Gradients,
  workspace: Workspace,
  panel: Panel,
  group: i32,
  sums: usize,
  toKeys: usize,
): void {
  const table = changetype<Table>(call.queryTable);
  const first = workspace.lookup.from;
  const count = workspace.lookup.to - first;
  if (count <= 0) return;
  const stride = (table.width as usize) << 2;
  const from = sums + ((first as usize) << 5);
  const entries = (first as usize) * stride;
  const lanes = min(LANES, workspace.tileCount - group * LANES);
  const keys = workspace.scaledKeys + ((group * LANES) as usize) * stride;
  addOuterSeen(from, count, keys, table.width, gradientOf(gradients.queryTable, table, panel.h, 4) + entries);
  memory.fill(workspace.keySums, 0, (LANES as usize) * stride);
  for (let half: usize = 0; half < 2; half++) {
    const at = workspace.keySums + half * 4 * stride;
    addWeightedSeen(
      from + (half << 4),
      tableOf(table, panel) + entries,
      stride,
      count,
      workspace.ones,
      at,
      table.width,
    );
  }
  const to = toKeys + ((group * LANES) as usize) * stride;
  const scale = f32x4.splat(call.scale);
  for (let at: usize = 0; at < (lanes as usize) * stride; at += 16) {
    const sums = f32x4.mul(v128.load(workspace.keySums + at), scale);
    v128.store(to + at, f32x4.add(v128.load(to + at), sums));
  }
  memory.fill(from, 0, (count as usize) << 5);
}
