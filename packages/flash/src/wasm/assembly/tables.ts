// The tables of a position method, in the forward pass: biases added to scores (T5, ALiBi), products with queries (Shaw et al.
// 2018, 1803.02155; Dai et al. 2019, 1901.02860) and with keys (He et al. 2020, 2006.03654), and rows weighted like values.
import { Call, Table } from './call';
import { keysTimesOne } from './few-rows';
import { BIAS_TABLE, KEY_TABLE, lookUp, QUERY_TABLE, VALUE_TABLE } from './lookup';
import { addWeighted, keysTimesPanel } from './products';
import { LANES, Panel, panelOf, Products, Room } from './room';
import { madd, NEGATIVE_INFINITY, sums } from './simd';

/** Where the rows of a panel's head begin. */
@inline
export function tableOf(table: Table, panel: Panel): usize {
  return table.rows + (((panel.h * table.headStride) as usize) << 2);
}

/** Numbers of a panel's group, [R, LANES]. */
@inline
export function ofGroup(numbers: usize, R: i32, group: i32): usize {
  return numbers + (((group * R * LANES) as usize) << 2);
}

/** The rows of a few query rows that count: all eight, unless they lie as few. */
@inline
function lanesOf(room: Room): i32 {
  return room.few === 0 ? LANES : room.few;
}

/** Forgets the products of earlier queries or keys. */
@inline
export function forget(products: Products): void {
  products.stamp++;
}

/** Adds the biases of distances. One of -Infinity hides its pairs. */
export function addTableBias(call: Call, room: Room, p: i32, scores: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.biasTable);
  const lookup = room.lookup;
  lookUp(call, room, BIAS_TABLE, table, p);
  const count = panel.to - panel.from;
  const biases = tableOf(table, panel);
  // The biases in the order of the rows looked up.
  const isLine = lookup.stride < 0;
  const entries = isLine ? count + LANES - 1 : count * LANES;
  const rows = isLine ? lookup.at - (((count - 1) as usize) << 2) : lookup.at;
  for (let n = 0; n < entries; n++) {
    const at = (n as usize) << 2;
    const row = load<i32>(rows + at);
    store<f32>(room.tableBiases + at, row < 0 ? 0 : load<f32>(biases + ((row as usize) << 2)));
  }
  const hides = f32x4.splat(NEGATIVE_INFINITY);
  let from = room.tableBiases + (isLine ? ((count - 1) as usize) << 2 : 0);
  for (let key = 0; key < count; key++, scores += 32, from += lookup.stride) {
    for (let half: usize = 0; half < 32; half += 16) {
      const bias = v128.load(from + half);
      const sum = f32x4.add(v128.load(scores + half), bias);
      v128.store(scores + half, v128.bitselect(hides, sum, f32x4.eq(bias, hides)));
    }
  }
}

/** `numbers[key][row] += products[table row of the pair][row]` */
export function addProducts(room: Room, count: i32, products: usize, numbers: usize): void {
  const lookup = room.lookup;
  if (lookup.uniform === -1) return;
  const end = numbers + ((count as usize) << 5);
  if (lookup.uniform >= 0) {
    const added0 = v128.load(products + ((lookup.uniform as usize) << 5));
    const added1 = v128.load(products + ((lookup.uniform as usize) << 5), 16);
    for (; numbers < end; numbers += 32) {
      v128.store(numbers, f32x4.add(v128.load(numbers), added0));
      v128.store(numbers, f32x4.add(v128.load(numbers, 16), added1), 16);
    }
    return;
  }
  const lanes = (lanesOf(room) as usize) << 2;
  for (let rows = lookup.at; numbers < end; numbers += 32, rows += lookup.stride) {
    for (let lane: usize = 0; lane < lanes; lane += 4) {
      const row = load<i32>(rows + lane);
      if (row < 0) continue;
      const at = numbers + lane;
      store<f32>(at, load<f32>(at) + load<f32>(products + ((row as usize) << 5) + lane));
    }
  }
}

/** `sums[table row of the pair][row] += numbers[key][row]` */
export function sumByRow(room: Room, count: i32, numbers: usize, sums: usize): void {
  const lookup = room.lookup;
  if (lookup.uniform === -1) return;
  const end = numbers + ((count as usize) << 5);
  if (lookup.uniform >= 0) {
    const to = sums + ((lookup.uniform as usize) << 5);
    let sum0 = v128.load(to);
    let sum1 = v128.load(to, 16);
    for (; numbers < end; numbers += 32) {
      sum0 = f32x4.add(sum0, v128.load(numbers));
      sum1 = f32x4.add(sum1, v128.load(numbers, 16));
    }
    v128.store(to, sum0);
    v128.store(to, sum1, 16);
    return;
  }
  const lanes = (lanesOf(room) as usize) << 2;
  for (let rows = lookup.at; numbers < end; numbers += 32, rows += lookup.stride) {
    for (let lane: usize = 0; lane < lanes; lane += 4) {
      const row = load<i32>(rows + lane);
      if (row < 0) continue;
      const at = sums + ((row as usize) << 5) + lane;
      store<f32>(at, load<f32>(at) + load<f32>(numbers + lane));
    }
  }
}

/** Makes what is missing of the products of rows [from, to) of a table with a panel, [size, LANES]. */
export function makeProducts(
  room: Room,
  products: Products,
  group: i32,
  rows: usize,
  width: i32,
  panel: usize,
  size: i32,
): void {
  const stamps = products.stamps + (((group * products.R) as usize) << 2);
  const numbers = ofGroup(products.numbers, products.R, group);
  const stride = (width as usize) << 2;
  let row = room.lookup.from;
  while (row < room.lookup.to) {
    if (load<i32>(stamps + ((row as usize) << 2)) === products.stamp) {
      row++;
      continue;
    }
    const first = row;
    while (row < room.lookup.to && load<i32>(stamps + ((row as usize) << 2)) !== products.stamp) {
      store<i32>(stamps + ((row as usize) << 2), products.stamp);
      row++;
    }
    const from = rows + (first as usize) * stride;
    const to = numbers + ((first as usize) << 5);
    if (room.few === 0) keysTimesPanel(from, stride, row - first, panel, size, to);
    else timesFew(room, from, stride, row - first, panel, size, to);
  }
}

function timesFew(room: Room, rows: usize, stride: usize, count: i32, queries: usize, D: i32, to: usize): void {
  if (room.few === 1) {
    keysTimesOne(rows, stride, count, queries, D, to);
    return;
  }
  const bytes = (D as usize) << 2;
  for (let n = 0; n < count; n++, rows += stride, to += 32) {
    for (let row: usize = 0; row < 4; row++) store<f32>(to + (row << 2), dot(rows, queries + row * bytes, D));
  }
}

/** Adds the products of queries, or of queries of their own, with the table of keys. */
export function addKeyTable(call: Call, room: Room, p: i32, scores: usize): void {
  const panel = panelOf(room, p);
  const table = changetype<Table>(call.keyTable);
  lookUp(call, room, KEY_TABLE, table, p);
  const queries = room.tableQueries + (((p * LANES * call.D) as usize) << 2);
  makeProducts(room, room.keyProducts, p, tableOf(table, panel), table.width, queries, call.D);
  addProducts(room, panel.to - panel.from, ofGroup(room.keyProducts.numbers, table.R, p), scores);
}

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
        const product = load<f32>(products + ((row as usize) << 5) + lane) * call.queryFactor;
        store<f32>(at + n, load<f32>(at + n) + product);
      }
    }
  }
}

/** Narrows the rows looked up to those of some keys. */
export function rangeOf(room: Room, entries: usize, count: i32): void {
  let from = i32.MAX_VALUE;
  let to = -1;
  for (let key = 0; key < count; key++, entries += room.lookup.stride) {
    for (let n: usize = 0; n < 32; n += 4) {
      const row = load<i32>(entries + n);
      if (row < 0) continue;
      from = min(from, row);
      to = max(to, row);
    }
  }
  room.lookup.from = from;
  room.lookup.to = to + 1;
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
      const product = dot(keyAt, rows + (((row * table.width) as usize) << 2), call.D) * call.queryFactor;
      store<f32>(at, load<f32>(at) + product);
    }
  }
}

function dot(a: usize, b: usize, D: i32): f32 {
  let sum = f32x4.splat(0);
  for (let at: usize = 0; at < (D as usize) << 2; at += 16) sum = madd(v128.load(a + at), v128.load(b + at), sum);
  return f32x4.extract_lane(sums(sum, sum, sum, sum), 0);
}

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
    addWeighted(weights + ((half as usize) << 4), rows, stride, count, room.ones, to, room.columns);
  }
}
