// The gradient without a matrix of scores (Dao et al. 2022, 2205.14135, algorithm 4): weights are computed again from rowMax and
// rowSum. With delta = dOutput · output - dLogSumExp, dScores = weights · (dOutput · value - delta).
import { Call, Gradients } from './call';
import { drawsOfRow, dropWeights } from './dropout';
import { beginTables, beginTile, tilesPerHead } from './forward';
import { loadTile } from './key-tile';
import { hasTables } from './lay-out';
import { addBiasGradients } from './masks';
import { addToKeys, addWeighted, allFinite, keysTimesPanel } from './products';
import { copyRows, firstKey, lastKey, packRows, setNoRow, setPanels, setRows } from './query-rows';
import { LANES, Panel, panelOf, Room, rowOf } from './room';
import { hidesPairs, scorePanel, scoresOf } from './scores';
import { exp } from './simd';
import {
  addQueryTableGradients,
  addTableBiasGradients,
  addValueProducts,
  beginTableSums,
  finishKeyTable,
  finishValueTable,
  sumKeyTable,
  sumValueTable,
} from './table-gradients';
import { forget } from './tables';

/** All rows of one key/value head: nothing else adds to the gradients of its keys and values. */
export function backwardHead(call: Call, gradients: Gradients, room: Room, head: i32): void {
  for (let tile = 0; tile < tilesPerHead(call); tile++) {
    setRows(call, room, head / call.Hkv, head % call.Hkv, tile * call.queriesPerTile);
    beginRows(call, gradients, room);
    const last = lastKey(room);
    for (let key = firstKey(room); key < last; key += call.keysPerTile) {
      const end = min(last, key + call.keysPerTile);
      if (!setPanels(call, room, key, end)) continue;
      loadTile(call, room, key, end);
      if (hasTables(call)) beginTableTile(call, room, end - key);
      backwardTile(call, gradients, room, end - key);
    }
    finishRows(call, gradients, room);
  }
}

function beginRows(call: Call, gradients: Gradients, room: Room): void {
  const slots = room.panelCount * LANES;
  for (let slot = 0; slot < slots; slot++) beginRow(call, gradients, room, slot);
  room.few = 0;
  packRows(room, call.query, call.D, call.D, call.queryFactor, room.queries);
  copyRows(room, call.query, call.D, call.D, room.keyColumns, slots, room.queryRows);
  packRows(room, gradients.given, gradients.givenWidth, call.Dv, 1, room.outputGradients);
  copyRows(room, gradients.given, gradients.givenWidth, call.Dv, room.columns, slots, room.outputGradientRows);
  memory.fill(room.queryGradients, 0, ((slots * room.keyColumns) as usize) << 2);
  if (!hasTables(call)) return;
  beginTables(call, room);
  forget(room.valueProducts);
  beginTableSums(call, room);
  if (call.keyTableQuery === 0) return;
  packRows(room, call.keyTableQuery, call.D, call.D, call.queryFactor, room.tableQueries);
  copyRows(room, call.keyTableQuery, call.D, call.D, room.keyColumns, slots, room.tableQueryRows);
  memory.fill(room.tableQueryGradients, 0, ((slots * room.keyColumns) as usize) << 2);
}

function beginTableTile(call: Call, room: Room, count: i32): void {
  beginTile(call, room, count);
  if (call.queryTable === 0) return;
  const bytes = (room.keyColumns as usize) << 2;
  for (let key = 0; key < ((count + LANES - 1) & ~(LANES - 1)); key++) {
    const to = room.paddedKeys + (key as usize) * bytes;
    if (key < count) memory.copy(to, room.keys + (key as usize) * room.keyStride, bytes);
    else memory.fill(to, 0, bytes);
  }
}

function beginRow(call: Call, gradients: Gradients, room: Room, slot: i32): void {
  const row = rowOf(room, slot);
  const at = (slot as usize) << 2;
  store<f32>(room.factors + at, 0);
  if (row.n < 0) return;
  const given = gradients.given + (((row.n * gradients.givenWidth) as usize) << 2);
  const output = gradients.output + (((row.n * call.Dv) as usize) << 2);
  let delta: f32 = 0;
  let isIdle = true;
  for (let d: usize = 0; d < (call.Dv as usize); d++) {
    const gradient = load<f32>(given + (d << 2));
    if (gradient !== 0) isIdle = false;
    delta += gradient * load<f32>(output + (d << 2));
  }
  if (gradients.givenWidth > call.Dv) {
    const gradient = load<f32>(given + ((call.Dv as usize) << 2));
    if (gradient !== 0) isIdle = false;
    delta -= gradient;
  }
  const sum = load<f32>(call.rowSum + ((row.n as usize) << 2));
  if (isIdle || sum === 0) {
    setNoRow(row); // it adds nothing, and may hold anything
    return;
  }
  store<f32>(gradients.delta + ((row.n as usize) << 2), delta);
  store<f32>(room.delta + at, delta);
  store<f32>(room.rowMax + at, load<f32>(call.rowMax + ((row.n as usize) << 2)));
  store<f32>(room.factors + at, 1 / sum);
  if (call.dropoutThreshold !== 0) row.draws = drawsOfRow(call, room.b, row.h, row.i);
}

/** Where the numbers of a panel begin that lie as scores do. */
@inline
function ofPanel(call: Call, numbers: usize, p: i32): usize {
  return numbers + (((p * LANES * call.keysPerTile) as usize) << 2);
}

function backwardTile(call: Call, gradients: Gradients, room: Room, count: i32): void {
  let hides = false;
  for (let p = 0; p < room.panelCount; p++) {
    const panel = panelOf(room, p);
    if (panel.from >= panel.to) continue;
    if (hidesPairs(call, room, p)) hides = true;
    weighPanel(call, gradients, room, p);
    clearAround(call, room, panel, scoresOf(call, room, p), count);
    clearAround(call, room, panel, ofPanel(call, room.scoreGradients, p), count);
  }
  const firstRow = (room.b * call.Hkv + room.head) * call.Skv + room.tileFrom;
  const toKeys = keyGradients(call, gradients, room);
  const toValues = gradients.value + (((firstRow * room.columns) as usize) << 2);
  if (hides && !isSafe(room, count)) {
    for (let p = 0; p < room.panelCount; p++) addPairs(call, room, p, toKeys, toValues);
    return;
  }
  const panelBytes = ((LANES * call.keysPerTile) as usize) << 2;
  addToKeys(room, count, room.scores, panelBytes, room.outputGradientRows, room.columns, toValues);
  addToKeys(room, count, room.scoreGradients, panelBytes, room.queryRows, room.keyColumns, toKeys);
  for (let p = 0; p < room.panelCount; p++) addToQueries(call, room, p);
}

/** From queries and keys to weights, and to the gradients of products of query and key. */
function weighPanel(call: Call, gradients: Gradients, room: Room, p: i32): void {
  const panel = panelOf(room, p);
  const count = panel.to - panel.from;
  const first = panel.from - room.tileFrom;
  const place = (first as usize) << 5;
  const weights = scoresOf(call, room, p) + place;
  const scoreGradients = ofPanel(call, room.scoreGradients, p) + place;
  const values = room.values + (first as usize) * room.valueStride;
  const outputGradients = room.outputGradients + (((p * LANES * call.Dv) as usize) << 2);
  scorePanel(call, room, p, weights, room.capped);
  keysTimesPanel(values, room.valueStride, count, outputGradients, call.Dv, scoreGradients);
  if (call.valueTable !== 0) addValueProducts(call, room, p, scoreGradients);
  if (call.dropoutThreshold !== 0) {
    const end = room.kept + ((count as usize) << 5);
    for (let at = room.kept; at < end; at += 16) v128.store(at, f32x4.splat(1));
    dropWeights(call, room, panel, p * LANES, room.kept);
  }
  for (let half: usize = 0; half < 32; half += 16) {
    throughSoftmax(call, room, ((p * LANES) as usize << 2) + half, count, weights + half, scoreGradients + half, half);
  }
  if (call.valueTable !== 0) sumValueTable(call, room, p, weights);
  if (call.biasTable !== 0) addTableBiasGradients(call, gradients, room, p, scoreGradients);
  if (gradients.bias !== 0) addBiasGradients(call, gradients.bias, room, panel, p * LANES, scoreGradients);
  throughCap(call, room, count, scoreGradients);
  if (call.keyTable !== 0) sumKeyTable(call, room, p, scoreGradients);
  if (call.queryTable !== 0) addQueryTableGradients(call, gradients, room, p, scoreGradients, keyGradients(call, gradients, room));
}

/** Where the gradients of the keys of a tile begin. */
function keyGradients(call: Call, gradients: Gradients, room: Room): usize {
  const firstRow = (room.b * call.Hkv + room.head) * call.Skv + room.tileFrom;
  return gradients.key + (((firstRow * room.keyColumns) as usize) << 2);
}

/** Four rows: scores become weights times what dropout multiplies by, gradients of these become those of scores. */
function throughSoftmax(call: Call, room: Room, rows: usize, count: i32, scores: usize, products: usize, half: usize): void {
  const zero = f32x4.splat(0);
  const rowMax = v128.load(room.rowMax + rows);
  const inverse = v128.load(room.factors + rows);
  const delta = v128.load(room.delta + rows);
  const isRow = f32x4.ne(inverse, zero);
  const drops = call.dropoutThreshold !== 0;
  let kept = room.kept + half;
  for (let key = 0; key < count; key++, scores += 32, products += 32, kept += 32) {
    const weight = v128.and(f32x4.mul(exp(f32x4.sub(v128.load(scores), rowMax)), inverse), isRow);
    let product = v128.load(products);
    let keptWeight = weight;
    if (drops) {
      const factor = v128.load(kept);
      product = f32x4.mul(product, factor);
      keptWeight = f32x4.mul(weight, factor);
    }
    v128.store(scores, keptWeight);
    const gradient = f32x4.mul(weight, f32x4.sub(product, delta));
    v128.store(products, v128.and(gradient, f32x4.ne(weight, zero))); // hidden values may hold anything
  }
}

function throughCap(call: Call, room: Room, count: i32, scoreGradients: usize): void {
  const end = scoreGradients + ((count as usize) << 5);
  const scale = f32x4.splat(call.scale);
  if (call.softcap === 0) {
    for (let at = scoreGradients; at < end; at += 16) v128.store(at, f32x4.mul(v128.load(at), scale));
    return;
  }
  const inverse = f32x4.splat(1 / call.softcap);
  const one = f32x4.splat(1);
  let capped = room.capped;
  for (let at = scoreGradients; at < end; at += 16, capped += 16) {
    const tanh = f32x4.mul(v128.load(capped), inverse);
    const slope = f32x4.mul(scale, f32x4.sub(one, f32x4.mul(tanh, tanh)));
    const gradient = f32x4.mul(v128.load(at), slope);
    v128.store(at, v128.and(gradient, f32x4.ne(v128.load(at), f32x4.splat(0))));
  }
}

/** Writes zeros around what a panel sees, as far as a block of four keys reaches. */
function clearAround(call: Call, room: Room, panel: Panel, numbers: usize, count: i32): void {
  const from = panel.from - room.tileFrom;
  const to = panel.to - room.tileFrom;
  const before = from & ~3;
  const behind = min(call.keysPerTile, (to + 3) & ~3);
  memory.fill(numbers + ((before as usize) << 5), 0, ((from - before) as usize) << 5);
  memory.fill(numbers + ((to as usize) << 5), 0, ((behind - to) as usize) << 5);
}

function addToQueries(call: Call, room: Room, p: i32): void {
  const panel = panelOf(room, p);
  const count = panel.to - panel.from;
  if (count <= 0) return;
  const first = (panel.from - room.tileFrom) as usize;
  const numbers = ofPanel(call, room.scoreGradients, p) + (first << 5);
  const keys = room.keys + first * room.keyStride;
  for (let half = 0; half < 2; half++) {
    const slot = p * LANES + half * 4;
    const to = room.queryGradients + (((slot * room.keyColumns) as usize) << 2);
    addWeighted(numbers + ((half as usize) << 4), keys, room.keyStride, count, room.ones, to, room.keyColumns);
  }
}

/** Whether hidden pairs do no harm: their weights are 0, and 0 times a number is 0. */
function isSafe(room: Room, count: i32): bool {
  const slots = room.panelCount * LANES;
  return (
    allFinite(room.keys, room.keyStride, count, room.keyColumns) &&
    allFinite(room.queryRows, (room.keyColumns as usize) << 2, slots, room.keyColumns) &&
    allFinite(room.outputGradientRows, (room.columns as usize) << 2, slots, room.columns)
  );
}

/** The same sums, pair by pair, without those that are hidden. */
function addPairs(call: Call, room: Room, p: i32, toKeys: usize, toValues: usize): void {
  const panel = panelOf(room, p);
  for (let key = panel.from; key < panel.to; key++) {
    const place = (key - room.tileFrom) as usize;
    const keyBytes = (room.keyColumns as usize) << 2;
    const valueBytes = (room.columns as usize) << 2;
    for (let lane = 0; lane < LANES; lane++) {
      const slot = (p * LANES + lane) as usize;
      const at = (place << 5) + ((lane as usize) << 2);
      const weight = load<f32>(scoresOf(call, room, p) + at);
      const gradient = load<f32>(ofPanel(call, room.scoreGradients, p) + at);
      const values = room.outputGradientRows + slot * valueBytes;
      if (weight !== 0) addTimes(toValues + place * valueBytes, weight, values, room.columns);
      if (gradient === 0) continue;
      addTimes(toKeys + place * keyBytes, gradient, room.queryRows + slot * keyBytes, room.keyColumns);
      addTimes(room.queryGradients + slot * keyBytes, gradient, room.keys + place * room.keyStride, room.keyColumns);
    }
  }
}

function addTimes(to: usize, factor: f32, from: usize, count: i32): void {
  for (let n: usize = 0; n < (count as usize) << 2; n += 4) {
    store<f32>(to + n, load<f32>(to + n) + factor * load<f32>(from + n));
  }
}

function finishRows(call: Call, gradients: Gradients, room: Room): void {
  const ownQuery = call.keyTableQuery !== 0;
  for (let p = 0; p < room.panelCount; p++) {
    if (call.valueTable !== 0) finishValueTable(call, gradients, room, p);
    if (call.keyTable === 0) continue;
    const rows = ownQuery ? room.tableQueryRows : room.queryRows;
    const to = ownQuery ? room.tableQueryGradients : room.queryGradients;
    finishKeyTable(call, gradients, room, p, rows, to);
  }
  for (let slot = 0; slot < room.panelCount * LANES; slot++) {
    const n = rowOf(room, slot).n;
    if (n < 0) continue;
    const from = room.queryGradients + (((slot * room.keyColumns) as usize) << 2);
    memory.copy(gradients.query + (((n * call.D) as usize) << 2), from, (call.D as usize) << 2);
    if (!ownQuery) continue;
    const own = room.tableQueryGradients + (((slot * room.keyColumns) as usize) << 2);
    memory.copy(gradients.keyTableQuery + (((n * call.D) as usize) << 2), own, (call.D as usize) << 2);
  }
}
