// The gradient without a matrix of scores (Dao et al. 2022, 2205.14135, algorithm 4): weights are computed again from rowMax and
// rowSum. With delta = dOutput · output - dLogSumExp, dScores = weights · (dOutput · value - delta).
import { Call, Gradients } from './call';
import { beginDraws, dropWeights } from './dropout';
import { addToKeys } from './products-to-keys';
import { addBiasGradients } from './bias';
import { addBiasTableGradients } from './bias-table';
import { tilesPerHead } from './forward';
import { finishKeyTable, sumKeyTable } from './key-table';
import { loadTile } from './key-tile';
import { addWeighted, keysTimesPanel } from './products';
import { copyRows, firstKey, lastKey, packRows, setNoRow, setPanels, setRows } from './query-tile';
import { LANES, Panel, panelOf, Workspace, rowOf } from './workspace';
import { hidesPairs, scoreGradientsOf, scorePanel, scoresOf } from './scores';
import { throughCap, throughSoftmax } from './score-gradients';
import { addQueryTableGradients } from './query-table';
import { beginTables, beginTile, beginTableGradients, hasTables } from './tables';
import { addValueTableProducts, finishValueTable, sumKeptWeights } from './value-table';
import { madd } from './simd';
import { addPairs, isSafe } from './non-finite';

/** All rows of one key/value head: nothing else adds to the gradients of its keys and values. */
export function backwardHead(call: Call, gradients: Gradients, workspace: Workspace, head: i32): void {
  for (let tile = 0; tile < tilesPerHead(call); tile++) {
    setRows(call, workspace, head / call.Hkv, head % call.Hkv, tile * call.queriesPerTile);
    beginRows(call, gradients, workspace);
    const last = lastKey(workspace);
    for (let key = firstKey(workspace); key < last; key += call.keysPerTile) {
      const end = min(last, key + call.keysPerTile);
      if (!setPanels(call, workspace, key, end)) continue;
      loadTile(call, workspace, key, end);
      if (hasTables(call)) beginTableTile(call, workspace, end - key);
      backwardTile(call, gradients, workspace, end - key);
    }
    finishRows(call, gradients, workspace);
  }
}

function beginRows(call: Call, gradients: Gradients, workspace: Workspace): void {
  const slots = workspace.panelCount * LANES;
  for (let slot = 0; slot < slots; slot++) beginRow(call, gradients, workspace, slot);
  workspace.fewRows = 0;
  packRows(workspace, call.query, call.D, call.scale, workspace.queries);
  copyRows(workspace, call.query, call.D, call.scale, workspace.keyColumns, slots, workspace.queryRows);
  packRows(workspace, gradients.outputGradient, call.Dv, 1, workspace.outputGradients);
  copyRows(
    workspace,
    gradients.outputGradient,
    call.Dv,
    1,
    workspace.columns,
    slots,
    workspace.outputGradientRows,
  );
  memory.fill(workspace.queryGradients, 0, ((slots * workspace.keyColumns) as usize) << 2);
  if (!hasTables(call)) return;
  beginTables(call, workspace);
  beginTableGradients(call, workspace, slots);
}

function beginTableTile(call: Call, workspace: Workspace, count: i32): void {
  beginTile(call, workspace, count);
  if (call.queryTable === 0) return;
  const bytes = (workspace.keyColumns as usize) << 2;
  const scale = f32x4.splat(call.scale);
  for (let key = 0; key < ((count + LANES - 1) & ~(LANES - 1)); key++) {
    const from = workspace.keys + (key as usize) * workspace.keyStride;
    const to = workspace.scaledKeys + (key as usize) * bytes;
    if (key >= count) memory.fill(to, 0, bytes);
    else for (let at: usize = 0; at < bytes; at += 16) v128.store(to + at, f32x4.mul(v128.load(from + at), scale));
  }
}

function beginRow(call: Call, gradients: Gradients, workspace: Workspace, slot: i32): void {
  const row = rowOf(workspace, slot);
  const at = (slot as usize) << 2;
  store<f32>(workspace.factors + at, 0);
  if (row.n < 0) return;
  const first = ((row.n * call.Dv) as usize) << 2;
  const outputGradient = gradients.outputGradient + first;
  const output = gradients.output + first;
  let isIdle = true;
  // In the order of the products with values: where one weight is 1, the difference is 0, however large scale is.
  let product = f32x4.splat(0);
  for (let at: usize = 0; at < (call.Dv as usize) << 2; at += 4) {
    if (load<f32>(outputGradient + at) !== 0) isIdle = false;
    product = madd(v128.load32_splat(output + at), v128.load32_splat(outputGradient + at), product);
  }
  let delta = f32x4.extract_lane(product, 0);
  if (gradients.logSumExpGradient !== 0) {
    const gradient = load<f32>(gradients.logSumExpGradient + ((row.n as usize) << 2));
    if (gradient !== 0) isIdle = false;
    delta -= gradient;
  }
  const sum = load<f32>(call.rowSum + ((row.n as usize) << 2));
  if (isIdle || sum === 0) {
    setNoRow(row); // it adds nothing, and may hold anything
    return;
  }
  store<f32>(gradients.delta + ((row.n as usize) << 2), delta);
  store<f32>(workspace.delta + at, delta);
  store<f32>(workspace.rowMax + at, load<f32>(call.rowMax + ((row.n as usize) << 2)));
  store<f32>(workspace.factors + at, 1 / sum);
  if (call.dropoutThreshold !== 0) beginDraws(call, workspace, slot);
}

function backwardTile(call: Call, gradients: Gradients, workspace: Workspace, count: i32): void {
  let hides = false;
  for (let p = 0; p < workspace.panelCount; p++) {
    const panel = panelOf(workspace, p);
    if (panel.from >= panel.to) continue;
    if (hidesPairs(call, workspace, p)) hides = true;
    weighPanel(call, gradients, workspace, p);
    clearAround(call, workspace, panel, scoresOf(call, workspace, p), count);
    clearAround(call, workspace, panel, scoreGradientsOf(call, workspace, p), count);
  }
  const firstRow = (workspace.b * call.Hkv + workspace.head) * call.Skv + workspace.tileFrom;
  const toKeys = keyGradients(call, gradients, workspace);
  const toValues = gradients.value + (((firstRow * workspace.columns) as usize) << 2);
  if (hides && !isSafe(workspace, count)) {
    for (let p = 0; p < workspace.panelCount; p++) addPairs(call, workspace, p, toKeys, toValues);
    return;
  }
  const panelBytes = ((LANES * call.keysPerTile) as usize) << 2;
  addToKeys(workspace, count, workspace.scores, panelBytes, workspace.outputGradientRows, workspace.columns, toValues);
  addToKeys(workspace, count, workspace.scoreGradients, panelBytes, workspace.queryRows, workspace.keyColumns, toKeys);
  for (let p = 0; p < workspace.panelCount; p++) addToQueries(call, workspace, p);
}

/** From queries and keys to weights, and to the gradients of products of query and key. */
function weighPanel(call: Call, gradients: Gradients, workspace: Workspace, p: i32): void {
  const panel = panelOf(workspace, p);
  const count = panel.to - panel.from;
  const first = panel.from - workspace.tileFrom;
  const offset = (first as usize) << 5;
  const weights = scoresOf(call, workspace, p) + offset;
  const scoreGradients = scoreGradientsOf(call, workspace, p) + offset;
  const values = workspace.values + (first as usize) * workspace.valueStride;
  const outputGradients = workspace.outputGradients + (((p * LANES * call.Dv) as usize) << 2);
  scorePanel(call, workspace, p, weights, workspace.tanhs);
  keysTimesPanel(values, workspace.valueStride, count, outputGradients, call.Dv, scoreGradients);
  if (call.valueTable !== 0) addValueTableProducts(call, workspace, p, scoreGradients);
  if (call.dropoutThreshold !== 0) {
    const end = workspace.kept + ((count as usize) << 5);
    for (let at = workspace.kept; at < end; at += 16) v128.store(at, f32x4.splat(1));
    dropWeights(call, workspace, panel, p * LANES, workspace.kept);
  }
  for (let half: usize = 0; half < 32; half += 16) {
    throughSoftmax(
      call,
      workspace,
      (((p * LANES) as usize) << 2) + half,
      count,
      weights + half,
      scoreGradients + half,
      half,
    );
  }
  if (call.valueTable !== 0) sumKeptWeights(call, workspace, p, weights);
  if (call.biasTable !== 0) addBiasTableGradients(call, gradients, workspace, p, scoreGradients);
  if (gradients.bias !== 0) addBiasGradients(call, gradients.bias, workspace, panel, p * LANES, scoreGradients);
  throughCap(call, workspace, count, scoreGradients);
  if (call.keyTable !== 0) sumKeyTable(call, workspace, p, scoreGradients);
  if (call.queryTable !== 0)
    addQueryTableGradients(call, gradients, workspace, p, scoreGradients, keyGradients(call, gradients, workspace));
}

/** Where the gradients of the keys of a tile begin. */
function keyGradients(call: Call, gradients: Gradients, workspace: Workspace): usize {
  const firstRow = (workspace.b * call.Hkv + workspace.head) * call.Skv + workspace.tileFrom;
  return gradients.key + (((firstRow * workspace.keyColumns) as usize) << 2);
}

/** Writes zeros around what a panel sees, as far as a block of four keys reaches. */
function clearAround(call: Call, workspace: Workspace, panel: Panel, numbers: usize, count: i32): void {
  const from = panel.from - workspace.tileFrom;
  const to = panel.to - workspace.tileFrom;
  const before = from & ~3;
  const behind = min(call.keysPerTile, (to + 3) & ~3);
  memory.fill(numbers + ((before as usize) << 5), 0, ((from - before) as usize) << 5);
  memory.fill(numbers + ((to as usize) << 5), 0, ((behind - to) as usize) << 5);
}

function addToQueries(call: Call, workspace: Workspace, p: i32): void {
  const panel = panelOf(workspace, p);
  const count = panel.to - panel.from;
  if (count <= 0) return;
  const first = (panel.from - workspace.tileFrom) as usize;
  const numbers = scoreGradientsOf(call, workspace, p) + (first << 5);
  const keys = workspace.keys + first * workspace.keyStride;
  for (let half = 0; half < 2; half++) {
    const slot = p * LANES + half * 4;
    const to = workspace.queryGradients + (((slot * workspace.keyColumns) as usize) << 2);
    addWeighted(
      numbers + ((half as usize) << 4),
      keys,
      workspace.keyStride,
      count,
      workspace.ones,
      to,
      workspace.keyColumns,
    );
  }
}

function finishRows(call: Call, gradients: Gradients, workspace: Workspace): void {
  const ownQuery = call.keyTableQuery !== 0;
  for (let p = 0; p < workspace.panelCount; p++) {
    if (call.valueTable !== 0) finishValueTable(call, gradients, workspace, p);
    if (call.keyTable === 0) continue;
    const rows = ownQuery ? workspace.keyTableQueryRows : workspace.queryRows;
    const to = ownQuery ? workspace.keyTableQueryGradients : workspace.queryGradients;
    finishKeyTable(call, gradients, workspace, p, rows, to);
  }
  for (let slot = 0; slot < workspace.panelCount * LANES; slot++) {
    const n = rowOf(workspace, slot).n;
    if (n < 0) continue;
    const from = ((slot * workspace.keyColumns) as usize) << 2;
    const to = ((n * call.D) as usize) << 2;
    writeScaled(call, workspace.queryGradients + from, gradients.query + to);
    if (ownQuery) writeScaled(call, workspace.keyTableQueryGradients + from, gradients.keyTableQuery + to);
  }
}

/** From the gradient of a scaled query to that of the query. */
function writeScaled(call: Call, from: usize, to: usize): void {
  for (let at: usize = 0; at < (call.D as usize) << 2; at += 4)
    store<f32>(to + at, load<f32>(from + at) * call.scale);
}
