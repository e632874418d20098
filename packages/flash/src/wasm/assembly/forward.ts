// Attention without a matrix of scores (Dao et al. 2022, 2205.14135; Dao 2023, 2307.08691): for each tile of query rows, the
// tiles of keys that they see pass by once; each row keeps its rowMax, rowSum and unscaled output.
import { Call } from './call';
import { beginDraws, dropWeights } from './dropout';
import { addWeightedToOne } from './decode-products';
import { fetchRows, loadPiece, loadTile } from './key-tile';
import { addSeenValues, allFinite } from './non-finite';
import { addWeighted } from './products';
import { firstKey, lastKey, readQueries, setPanels, setRows } from './query-tile';
import { LANES, Panel, panelOf, Workspace, rowOf } from './workspace';
import { hidesPairs, scorePanel, scoresOf } from './scores';
import { NEGATIVE_INFINITY } from './simd';
import { updateSoftmax } from './softmax';
import { beginTables, beginTile, hasTables } from './tables';
import { addValueTable, sumValueTableWeights } from './value-table';

/** Row tiles of a call: those of one key/value head follow each other. */
export function tilesPerHead(call: Call): i32 {
  return (call.Sq + call.queriesPerTile - 1) / call.queriesPerTile;
}

export function forwardTile(call: Call, workspace: Workspace, tile: i32): void {
  const perHead = tilesPerHead(call);
  const head = tile / perHead;
  const first = (tile % perHead) * call.queriesPerTile;
  setRows(call, workspace, head / call.Hkv, head % call.Hkv, first);
  readQueries(call, workspace);
  workspace.shrink = 1;
  passKeys(call, workspace);
  if (overflows(workspace)) {
    workspace.shrink = call.shrink;
    passKeys(call, workspace);
  }
  writeRows(call, workspace);
}

/** All keys that the rows see, from the first to the last. */
function passKeys(call: Call, workspace: Workspace): void {
  beginRows(call, workspace);
  const separates = hasTables(call);
  if (separates) beginTables(call, workspace);
  const last = lastKey(workspace);
  for (let key = firstKey(workspace); key < last; key += call.keysPerTile) {
    const end = min(last, key + call.keysPerTile);
    if (!setPanels(call, workspace, key, end)) continue;
    loadTile(call, workspace, key, end);
    if (separates) beginTile(call, workspace, end - key);
    if (workspace.fewRows !== 0) fetchRows(call, workspace, key, end, true);
    for (let p = 0; p < workspace.panelCount; p++) weighPanel(call, workspace, p);
    if (workspace.fewRows !== 0) fetchRows(call, workspace, end, min(last, end + call.keysPerTile), false);
    for (let p = 0; p < workspace.panelCount; p++) addValues(call, workspace, p);
  }
  if (call.valueTable !== 0) for (let p = 0; p < workspace.panelCount; p++) addValueTable(call, workspace, p);
}

/** Whether sums of values have become too large, or values were no numbers, which then stay so. */
function overflows(workspace: Workspace): bool {
  for (let slot = 0; slot < workspace.panelCount * LANES; slot++) {
    if (rowOf(workspace, slot).n < 0) continue;
    const sum = load<f32>(workspace.rowSum + ((slot as usize) << 2));
    const outputs = workspace.outputs + (((slot * workspace.columns) as usize) << 2);
    if (sum - sum === 0 && !allFinite(outputs, 0, 1, workspace.columns)) return true;
  }
  return false;
}

/** A learned sink is one more score, whose value is 0. */
function beginRows(call: Call, workspace: Workspace): void {
  const lanes = workspace.panelCount * LANES;
  memory.fill(workspace.outputs, 0, ((lanes * workspace.columns) as usize) << 2);
  for (let slot = 0; slot < lanes; slot++) {
    const row = rowOf(workspace, slot);
    let sink: f32 = NEGATIVE_INFINITY;
    if (row.n >= 0) {
      if (call.sinkLogits !== 0) sink = load<f32>(call.sinkLogits + ((row.h as usize) << 2));
      if (call.dropoutThreshold !== 0) beginDraws(call, workspace, slot);
    }
    const at = (slot as usize) << 2;
    store<f32>(workspace.rowMax + at, sink);
    store<f32>(workspace.rowSum + at, sink === NEGATIVE_INFINITY ? 0 : sink - sink + 1);
  }
}

/** From queries and keys to weights, not divided by rowSum yet. */
function weighPanel(call: Call, workspace: Workspace, p: i32): void {
  const panel = panelOf(workspace, p);
  const count = panel.to - panel.from;
  if (count <= 0) return;
  const scores = scoresOf(call, workspace, p);
  scorePanel(call, workspace, p, scores, 0);
  const rows = ((p * LANES) as usize) << 2;
  const halves: usize = workspace.fewRows === 0 ? 32 : 16;
  for (let half: usize = 0; half < halves; half += 16) {
    const at = rows + half;
    updateSoftmax(scores + half, count, workspace.rowMax + at, workspace.rowSum + at, workspace.factors + at);
  }
  if (workspace.shrink !== 1) shrinkWeights(workspace, scores, count);
  if (call.dropoutThreshold !== 0) dropWeights(call, workspace, panel, p * LANES, scores);
  if (call.valueTable !== 0) sumValueTableWeights(call, workspace, p, scores);
}

function addValues(call: Call, workspace: Workspace, p: i32): void {
  const panel = panelOf(workspace, p);
  const count = panel.to - panel.from;
  if (count <= 0) return;
  const weights = scoresOf(call, workspace, p);
  const values = workspace.values + ((panel.from - workspace.tileFrom) as usize) * workspace.valueStride;
  if (hidesPairs(call, workspace, p) && !allFinite(values, workspace.valueStride, count, workspace.columns)) {
    addSeenValues(call, workspace, panel, p);
    return;
  }
  if (workspace.inPieces === 0) {
    multiplyValues(workspace, p, weights, values, count, workspace.factors);
    return;
  }
  let factors = workspace.factors;
  for (let key = panel.from, from = weights; key < panel.to; ) {
    const found = loadPiece(call, workspace, key, panel.to, true);
    multiplyValues(workspace, p, from, workspace.values, found, factors);
    key += found;
    from += (found as usize) << 5;
    factors = workspace.ones; // what the first has made less
  }
}

/** @param factors what the outputs of all panels are multiplied by */
function multiplyValues(
  workspace: Workspace,
  p: i32,
  weights: usize,
  values: usize,
  count: i32,
  factors: usize,
): void {
  const valueStride = workspace.valueStride;
  const columns = workspace.columns;
  if (workspace.fewRows === 1) {
    addWeightedToOne(weights, values, valueStride, count, v128.load32_splat(factors), workspace.outputs, columns);
    return;
  }
  for (let half = 0; half < (workspace.fewRows === 0 ? 2 : 1); half++) {
    const slot = p * LANES + half * 4;
    addWeighted(
      weights + ((half as usize) << 4),
      values,
      valueStride,
      count,
      factors + ((slot as usize) << 2),
      workspace.outputs + (((slot * columns) as usize) << 2),
      columns,
    );
  }
}

/** Weights are at most 1, and as many as keys: sums of values times all of them may overflow where their mean does not. */
function shrinkWeights(workspace: Workspace, weights: usize, count: i32): void {
  const factor = f32x4.splat(workspace.shrink);
  const end = weights + ((count as usize) << 5);
  for (let at = weights; at < end; at += 16) v128.store(at, f32x4.mul(v128.load(at), factor));
}

function writeRows(call: Call, workspace: Workspace): void {
  for (let slot = 0; slot < workspace.panelCount * LANES; slot++) {
    const row = rowOf(workspace, slot);
    if (row.n < 0) continue;
    const at = (slot as usize) << 2;
    const sum = load<f32>(workspace.rowSum + at);
    store<f32>(call.rowMax + ((row.n as usize) << 2), load<f32>(workspace.rowMax + at));
    store<f32>(call.rowSum + ((row.n as usize) << 2), sum);
    const inverse: f32 = sum === 0 ? 0 : 1 / (sum * workspace.shrink); // it has seen nothing: zeros
    const from = workspace.outputs + (((slot * workspace.columns) as usize) << 2);
    const to = call.output + (((row.n * call.Dv) as usize) << 2);
    for (let d = 0; d < call.Dv; d++) {
      const offset = (d as usize) << 2;
      store<f32>(to + offset, load<f32>(from + offset) * inverse);
    }
  }
}
