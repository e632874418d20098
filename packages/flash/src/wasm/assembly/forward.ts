// Attention without a matrix of scores (Dao et al. 2022, 2205.14135; Dao 2023, 2307.08691): for each tile of query rows, the
// tiles of keys that they see pass by once; each row keeps its rowMax, rowSum and unscaled output.
import { Call } from './call';
import { beginDraws, dropWeights } from './dropout';
import { addWeightedToOne, fetch } from './few-rows';
import { loadTile } from './key-tile';
import { hasTables } from './lay-out';
import { addSeenValues, allFinite } from './non-finite';
import { addWeighted } from './products';
import { firstKey, lastKey, readQueries, setPanels, setRows } from './query-rows';
import { LANES, Panel, panelOf, Room, rowOf } from './room';
import { hidesPairs, scorePanel, scoresOf } from './scores';
import { NEGATIVE_INFINITY } from './simd';
import { takeScores } from './softmax';
import { beginTables, beginTile } from './tables';
import { addTableValues, sumTableWeights } from './value-table';

/** Row tiles of a call: those of one key/value head follow each other. */
export function tilesPerHead(call: Call): i32 {
  return (call.Sq + call.queriesPerTile - 1) / call.queriesPerTile;
}

export function forwardTile(call: Call, room: Room, tile: i32): void {
  const perHead = tilesPerHead(call);
  const head = tile / perHead;
  const first = (tile % perHead) * call.queriesPerTile;
  setRows(call, room, head / call.Hkv, head % call.Hkv, first);
  readQueries(call, room);
  room.shrink = 1;
  passKeys(call, room);
  if (overflows(room)) {
    room.shrink = call.shrink;
    passKeys(call, room);
  }
  writeRows(call, room);
}

/** All keys that the rows see, from the first to the last. */
function passKeys(call: Call, room: Room): void {
  beginRows(call, room);
  const separates = hasTables(call);
  if (separates) beginTables(call, room);
  const last = lastKey(room);
  for (let key = firstKey(room); key < last; key += call.keysPerTile) {
    const end = min(last, key + call.keysPerTile);
    if (!setPanels(call, room, key, end)) continue;
    loadTile(call, room, key, end);
    if (separates) beginTile(call, room, end - key);
    const isFew = room.few !== 0;
    if (isFew) fetch(room.values, room.valueStride, end - key);
    for (let p = 0; p < room.panelCount; p++) weighPanel(call, room, p);
    if (isFew) fetch(room.keys + room.keyStride * ((end - key) as usize), room.keyStride, room.keysAhead);
    for (let p = 0; p < room.panelCount; p++) addValues(call, room, p);
  }
  if (call.valueTable !== 0) for (let p = 0; p < room.panelCount; p++) addTableValues(call, room, p);
}

/** Whether sums of values have become too large, or values were no numbers, which then stay so. */
function overflows(room: Room): bool {
  for (let slot = 0; slot < room.panelCount * LANES; slot++) {
    if (rowOf(room, slot).n < 0) continue;
    const sum = load<f32>(room.rowSum + ((slot as usize) << 2));
    const outputs = room.outputs + (((slot * room.columns) as usize) << 2);
    if (sum - sum === 0 && !allFinite(outputs, 0, 1, room.columns)) return true;
  }
  return false;
}

/** A learned sink is one more score, whose value is 0. */
function beginRows(call: Call, room: Room): void {
  const lanes = room.panelCount * LANES;
  memory.fill(room.outputs, 0, ((lanes * room.columns) as usize) << 2);
  for (let slot = 0; slot < lanes; slot++) {
    const row = rowOf(room, slot);
    let sink: f32 = NEGATIVE_INFINITY;
    if (row.n >= 0) {
      if (call.sinkLogits !== 0) sink = load<f32>(call.sinkLogits + ((row.h as usize) << 2));
      if (call.dropoutThreshold !== 0) beginDraws(call, room, slot);
    }
    const at = (slot as usize) << 2;
    store<f32>(room.rowMax + at, sink);
    store<f32>(room.rowSum + at, sink === NEGATIVE_INFINITY ? 0 : sink - sink + 1);
  }
}

/** From queries and keys to weights, not divided by rowSum yet. */
function weighPanel(call: Call, room: Room, p: i32): void {
  const panel = panelOf(room, p);
  const count = panel.to - panel.from;
  if (count <= 0) return;
  const scores = scoresOf(call, room, p);
  scorePanel(call, room, p, scores, 0);
  const rows = ((p * LANES) as usize) << 2;
  const halves: usize = room.few === 0 ? 32 : 16;
  for (let half: usize = 0; half < halves; half += 16) {
    const at = rows + half;
    takeScores(scores + half, count, room.rowMax + at, room.rowSum + at, room.factors + at);
  }
  if (room.shrink !== 1) shrinkWeights(room, scores, count);
  if (call.dropoutThreshold !== 0) dropWeights(call, room, panel, p * LANES, scores);
  if (call.valueTable !== 0) sumTableWeights(call, room, p, scores);
}

function addValues(call: Call, room: Room, p: i32): void {
  const panel = panelOf(room, p);
  const count = panel.to - panel.from;
  if (count <= 0) return;
  const weights = scoresOf(call, room, p);
  const values = room.values + ((panel.from - room.tileFrom) as usize) * room.valueStride;
  if (hidesPairs(call, room, p) && !allFinite(values, room.valueStride, count, room.columns)) {
    addSeenValues(call, room, panel, p);
    return;
  }
  if (room.few === 1) {
    const factor = v128.load32_splat(room.factors);
    addWeightedToOne(weights, values, room.valueStride, count, factor, room.outputs, room.columns);
    return;
  }
  for (let half = 0; half < (room.few === 0 ? 2 : 1); half++) {
    const slot = p * LANES + half * 4;
    addWeighted(
      weights + ((half as usize) << 4),
      values,
      room.valueStride,
      count,
      room.factors + ((slot as usize) << 2),
      room.outputs + (((slot * room.columns) as usize) << 2),
      room.columns,
    );
  }
}

/** Weights are at most 1, and as many as keys: sums of values times all of them may overflow where their mean does not. */
function shrinkWeights(room: Room, weights: usize, count: i32): void {
  const factor = f32x4.splat(room.shrink);
  const end = weights + ((count as usize) << 5);
  for (let at = weights; at < end; at += 16) v128.store(at, f32x4.mul(v128.load(at), factor));
}

function writeRows(call: Call, room: Room): void {
  for (let slot = 0; slot < room.panelCount * LANES; slot++) {
    const row = rowOf(room, slot);
    if (row.n < 0) continue;
    const at = (slot as usize) << 2;
    const sum = load<f32>(room.rowSum + at);
    store<f32>(call.rowMax + ((row.n as usize) << 2), load<f32>(room.rowMax + at));
    store<f32>(call.rowSum + ((row.n as usize) << 2), sum);
    const inverse: f32 = sum === 0 ? 0 : 1 / (sum * room.shrink); // it has seen nothing: zeros
    const from = room.outputs + (((slot * room.columns) as usize) << 2);
    const to = call.output + (((row.n * call.Dv) as usize) << 2);
    for (let d = 0; d < call.Dv; d++) {
      const place = (d as usize) << 2;
      store<f32>(to + place, load<f32>(from + place) * inverse);
    }
  }
}
