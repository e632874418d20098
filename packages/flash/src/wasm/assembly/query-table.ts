// scores += scale · k·queries_d: products of keys with rows found by distance (He et al. 2020, 2006.03654).
import { Call, Gradients, Table } from './call';
import { lookUp, QUERY_TABLE } from './lookup';
import { addOuterSeen, addWeightedSeen } from './non-finite';
import { LANES, Panel, panelOf, Room } from './room';
import { dot, forget, gradientOf, lanesOf, makeProducts, ofGroup, rangeOf, tableOf } from './table-products';

/** Writes the keys of a tile as [keys / LANES, D, LANES]. */
export function packKeys(call: Call, room: Room): void {
  for (let key = 0; key < ((room.tileCount + LANES - 1) & ~(LANES - 1)); key++) {
    const from = room.keys + (key as usize) * room.keyStride;
    const lane = ((key % LANES) as usize) << 2;
    let to = room.keyPanels + ((((key / LANES) * call.D * LANES) as usize) << 2) + lane;
    for (let d: usize = 0; d < (call.D as usize); d++, to += LANES << 2) {
      store<f32>(to, key < room.tileCount ? load<f32>(from + (d << 2)) : 0);
    }
  }
}

/** Adds the products of keys with the table of queries. */
export function addQueryTable(call: Call, room: Room, p: i32, scores: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.queryTable);
  if (room.few !== 0) {
    addFewQueryTable(call, room, p, scores);
    return;
  }
  lookUp(call, room, QUERY_TABLE, table, p);
  if (room.lookup.uniform === -1) return;
  const rows = tableOf(table, panel);
  if (table.headStride !== 0 && room.queryTableHead !== panel.h) {
    forget(room.queryProducts);
    room.queryTableHead = panel.h;
  }
  const all = room.lookup.at;
  for (let key = panel.from; key < panel.to; ) {
    const group = (key - room.tileFrom) / LANES;
    const end = min(panel.to, room.tileFrom + (group + 1) * LANES);
    const found = all + ((key - panel.from) as usize) * room.lookup.stride;
    rangeOf(room, found, end - key);
    const keys = room.keyPanels + (((group * call.D * LANES) as usize) << 2);
    makeProducts(room, room.queryProducts, group, rows, table.width, keys, call.D);
    const products = ofGroup(room.queryProducts.numbers, table.R, group);
    for (; key < end; key++) {
      const lane = (((key - room.tileFrom) % LANES) as usize) << 2;
      const at = scores + (((key - panel.from) as usize) << 5);
      const entries = all + ((key - panel.from) as usize) * room.lookup.stride;
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
function addFewQueryTable(call: Call, room: Room, p: i32, scores: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.queryTable);
  lookUp(call, room, QUERY_TABLE, table, p);
  const rows = tableOf(table, panel);
  const lanes = (lanesOf(room) as usize) << 2;
  for (let key = panel.from; key < panel.to; key++) {
    const place = (key - panel.from) as usize;
    const keyAt = room.keys + ((key - room.tileFrom) as usize) * room.keyStride;
    for (let lane: usize = 0; lane < lanes; lane += 4) {
      const row = load<i32>(room.lookup.at + place * room.lookup.stride + lane);
      if (row < 0) continue;
      const at = scores + (place << 5) + lane;
      const product = dot(keyAt, rows + (((row * table.width) as usize) << 2), call.D) * call.scale;
      store<f32>(at, load<f32>(at) + product);
    }
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
    finishKeys(call, gradients, room, panel, group, sums, toKeys);
  }
}

/** From sums of eight keys, [R, LANES], to the gradients of the table and of the keys; the sums become 0 again. */
function finishKeys(
  call: Call,
  gradients: Gradients,
  room: Room,
  panel: Panel,
  group: i32,
  sums: usize,
  toKeys: usize,
): void {
  const table = changetype<Table>(call.queryTable);
  const first = room.lookup.from;
  const count = room.lookup.to - first;
  if (count <= 0) return;
  const stride = (table.width as usize) << 2;
  const from = sums + ((first as usize) << 5);
  const entries = (first as usize) * stride;
  const lanes = min(LANES, room.tileCount - group * LANES);
  const keys = room.scaledKeys + ((group * LANES) as usize) * stride;
  addOuterSeen(from, count, keys, table.width, gradientOf(gradients.queryTable, table, panel.h, 4) + entries);
  memory.fill(room.keySums, 0, (LANES as usize) * stride);
  for (let half: usize = 0; half < 2; half++) {
    const at = room.keySums + half * 4 * stride;
    addWeightedSeen(
      from + (half << 4),
      tableOf(table, panel) + entries,
      stride,
      count,
      room.ones,
      at,
      table.width,
    );
  }
  const to = toKeys + ((group * LANES) as usize) * stride;
  const scale = f32x4.splat(call.scale);
  for (let at: usize = 0; at < (lanes as usize) * stride; at += 16) {
    const sums = f32x4.mul(v128.load(room.keySums + at), scale);
    v128.store(to + at, f32x4.add(v128.load(to + at), sums));
  }
  memory.fill(from, 0, (count as usize) << 5);
}
