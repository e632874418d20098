// The gradient without a matrix of scores (Dao et al. 2022, 2205.14135, algorithm 4): weights are computed again from rowMax and
// rowSum. With delta = dOutput · output - dLogSumExp, dScores = weights · (dOutput · value - delta).
import { Call, Gradients } from './call';
import { beginDraws, dropWeights } from './dropout';
import { addToKeys } from './add-to-keys';
import { addTableBiasGradients } from './bias-table';
import { tilesPerHead } from './forward';
import { finishKeyTable, sumKeyTable } from './key-table';
import { loadTile } from './key-tile';
import { hasTables } from './lay-out';
import { addBiasGradients } from './masks';
import { addWeighted, keysTimesPanel } from './products';
import { copyRows, firstKey, lastKey, packRows, setNoRow, setPanels, setRows } from './query-rows';
import { LANES, Panel, panelOf, Room, rowOf } from './room';
import { hidesPairs, scoreGradientsOf, scorePanel, scoresOf } from './scores';
import { throughCap, throughSoftmax } from './score-gradients';
import { addQueryTableGradients } from './query-table';
import { beginTables, beginTile, beginTableGradients } from './tables';
import { addValueProducts, finishValueTable, sumValueTable } from './value-table';
import { madd } from './simd';
import { addPairs, isSafe } from './non-finite';

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
  packRows(room, call.query, call.D, call.D, call.scale, room.queries);
  copyRows(room, call.query, call.D, call.D, call.scale, room.keyColumns, slots, room.queryRows);
  packRows(room, gradients.given, gradients.givenWidth, call.Dv, 1, room.outputGradients);
  copyRows(
    room,
    gradients.given,
    gradients.givenWidth,
    call.Dv,
    1,
    room.columns,
    slots,
    room.outputGradientRows,
  );
  memory.fill(room.queryGradients, 0, ((slots * room.keyColumns) as usize) << 2);
  if (!hasTables(call)) return;
  beginTables(call, room);
  beginTableGradients(call, room, slots);
}

function beginTableTile(call: Call, room: Room, count: i32): void {
  beginTile(call, room, count);
  if (call.queryTable === 0) return;
  const bytes = (room.keyColumns as usize) << 2;
  const scale = f32x4.splat(call.scale);
  for (let key = 0; key < ((count + LANES - 1) & ~(LANES - 1)); key++) {
    const from = room.keys + (key as usize) * room.keyStride;
    const to = room.scaledKeys + (key as usize) * bytes;
    if (key >= count) memory.fill(to, 0, bytes);
    else for (let at: usize = 0; at < bytes; at += 16) v128.store(to + at, f32x4.mul(v128.load(from + at), scale));
  }
}

function beginRow(call: Call, gradients: Gradients, room: Room, slot: i32): void {
  const row = rowOf(room, slot);
  const at = (slot as usize) << 2;
  store<f32>(room.factors + at, 0);
  if (row.n < 0) return;
  const given = gradients.given + (((row.n * gradients.givenWidth) as usize) << 2);
  const output = gradients.output + (((row.n * call.Dv) as usize) << 2);
  let isIdle = true;
  // In the order of the products with values: where one weight is 1, the difference is 0, however large scale is.
  let product = f32x4.splat(0);
  for (let at: usize = 0; at < (call.Dv as usize) << 2; at += 4) {
    if (load<f32>(given + at) !== 0) isIdle = false;
    product = madd(v128.load32_splat(output + at), v128.load32_splat(given + at), product);
  }
  let delta = f32x4.extract_lane(product, 0);
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
  if (call.dropoutThreshold !== 0) beginDraws(call, room, slot);
}

function backwardTile(call: Call, gradients: Gradients, room: Room, count: i32): void {
  let hides = false;
  for (let p = 0; p < room.panelCount; p++) {
    const panel = panelOf(room, p);
    if (panel.from >= panel.to) continue;
    if (hidesPairs(call, room, p)) hides = true;
    weighPanel(call, gradients, room, p);
    clearAround(call, room, panel, scoresOf(call, room, p), count);
    clearAround(call, room, panel, scoreGradientsOf(call, room, p), count);
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
  const scoreGradients = scoreGradientsOf(call, room, p) + place;
  const values = room.values + (first as usize) * room.valueStride;
  const outputGradients = room.outputGradients + (((p * LANES * call.Dv) as usize) << 2);
  scorePanel(call, room, p, weights, room.tanhs);
  keysTimesPanel(values, room.valueStride, count, outputGradients, call.Dv, scoreGradients);
  if (call.valueTable !== 0) addValueProducts(call, room, p, scoreGradients);
  if (call.dropoutThreshold !== 0) {
    const end = room.kept + ((count as usize) << 5);
    for (let at = room.kept; at < end; at += 16) v128.store(at, f32x4.splat(1));
    dropWeights(call, room, panel, p * LANES, room.kept);
  }
  for (let half: usize = 0; half < 32; half += 16) {
    throughSoftmax(
      call,
      room,
      (((p * LANES) as usize) << 2) + half,
      count,
      weights + half,
      scoreGradients + half,
      half,
    );
  }
  if (call.valueTable !== 0) sumValueTable(call, room, p, weights);
  if (call.biasTable !== 0) addTableBiasGradients(call, gradients, room, p, scoreGradients);
  if (gradients.bias !== 0) addBiasGradients(call, gradients.bias, room, panel, p * LANES, scoreGradients);
  throughCap(call, room, count, scoreGradients);
  if (call.keyTable !== 0) sumKeyTable(call, room, p, scoreGradients);
  if (call.queryTable !== 0)
    addQueryTableGradients(call, gradients, room, p, scoreGradients, keyGradients(call, gradients, room));
}

/** Where the gradients of the keys of a tile begin. */
function keyGradients(call: Call, gradients: Gradients, room: Room): usize {
  const firstRow = (room.b * call.Hkv + room.head) * call.Skv + room.tileFrom;
  return gradients.key + (((firstRow * room.keyColumns) as usize) << 2);
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
  const numbers = scoreGradientsOf(call, room, p) + (first << 5);
  const keys = room.keys + first * room.keyStride;
  for (let half = 0; half < 2; half++) {
    const slot = p * LANES + half * 4;
    const to = room.queryGradients + (((slot * room.keyColumns) as usize) << 2);
    addWeighted(
      numbers + ((half as usize) << 4),
      keys,
      room.keyStride,
      count,
      room.ones,
      to,
      room.keyColumns,
    );
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
    const from = ((slot * room.keyColumns) as usize) << 2;
    const to = ((n * call.D) as usize) << 2;
    writeScaled(call, room.queryGradients + from, gradients.query + to);
    if (ownQuery) writeScaled(call, room.tableQueryGradients + from, gradients.keyTableQuery + to);
  }
}

/** From the gradient of a scaled query to that of the query. */
function writeScaled(call: Call, from: usize, to: usize): void {
  for (let at: usize = 0; at < (call.D as usize) << 2; at += 4)
    store<f32>(to + at, load<f32>(from + at) * call.scale);
}
