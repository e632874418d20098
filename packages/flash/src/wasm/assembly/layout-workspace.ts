// Divides the workspace of a thread.
import { Call, Table } from './call';
import { hasTables } from './tables';
import { ROWS_UNPACKED } from './key-tile';
import { aligned, LANES, Line, Lookup, Panel, Products, Workspace, workspaceAt, Row } from './workspace';

let next: u64 = 0;
let writes: bool = false;

/** Reserves `count * times * again` numbers. Counts on beyond 32 bits, so that the host can refuse what no memory holds. */
function reserve(count: i32, times: i32 = 1, again: i32 = 1): usize {
  const at = next as usize;
  next += ((((count as u64) * (times as u64) * (again as u64)) << 2) + 63) & ~63;
  return at;
}

/** Divides the bytes from `at` on for a pass, and returns the first behind them. At 0 it only counts. */
export function layoutWorkspace(call: Call, at: usize, isBackward: bool): u64 {
  const workspace = workspaceAt(at);
  writes = at !== 0;
  next = (changetype<usize>(workspace) + aligned(offsetof<Workspace>())) as u64;
  layoutRows(call, workspace, isBackward);
  if (isBackward) layoutGradients(call, workspace);
  if (hasTables(call)) layoutTables(call, workspace, isBackward);
  return next + 64;
}

/** The most panels that a tile has. Where there are tables a panel has rows of one head only. */
function panelsOf(call: Call): i32 {
  if (hasTables(call)) return call.G * ((call.queriesPerTile + LANES - 1) / LANES);
  return (call.G * call.queriesPerTile + LANES - 1) / LANES;
}

function layoutRows(call: Call, workspace: Workspace, isBackward: bool): void {
  const panels = panelsOf(call);
  const lanes = panels * LANES;
  const columns = (call.Dv + 7) & ~7;
  const keyColumns = isBackward ? (call.D + 7) & ~7 : call.D;
  const rows = reserve(lanes, (offsetof<Row>() as i32) >> 2);
  const panelsAt = reserve(panels, (offsetof<Panel>() as i32) >> 2);
  const queries = reserve(lanes, call.D);
  // Products of an odd number of keys write one more: that of the last piece of a full tile lies behind it.
  const scores = reserve(lanes, call.keysPerTile + 1);
  const outputs = reserve(lanes, columns);
  const rowMax = reserve(lanes);
  const rowSum = reserve(lanes);
  const factors = reserve(lanes);
  const draws = reserve(lanes);
  const gatheredKeys = reserve(max(call.keysPerTile, ROWS_UNPACKED), keyColumns);
  const gatheredValues = reserve(max(call.keysPerTile, ROWS_UNPACKED), columns);
  const ones = reserve(LANES);
  if (!writes) return;
  workspace.run = 0;
  workspace.rows = rows;
  workspace.panels = panelsAt;
  workspace.queries = queries;
  workspace.scores = scores;
  workspace.outputs = outputs;
  workspace.columns = columns;
  workspace.keyColumns = keyColumns;
  workspace.rowMax = rowMax;
  workspace.rowSum = rowSum;
  workspace.factors = factors;
  workspace.draws = draws;
  workspace.gatheredKeys = gatheredKeys;
  workspace.gatheredValues = gatheredValues;
  workspace.ones = ones;
  for (let lane = 0; lane < LANES; lane++) store<f32>(ones + ((lane as usize) << 2), 1);
}

function layoutGradients(call: Call, workspace: Workspace): void {
  const lanes = panelsOf(call) * LANES;
  const columns = (call.Dv + 7) & ~7;
  const keyColumns = (call.D + 7) & ~7;
  const delta = reserve(lanes);
  const tanhs = reserve(call.keysPerTile, LANES);
  const kept = reserve(call.keysPerTile, LANES);
  const scoreGradients = reserve(lanes, call.keysPerTile);
  const queryRows = reserve(lanes, keyColumns);
  const queryGradients = reserve(lanes, keyColumns);
  const outputGradients = reserve(lanes, call.Dv);
  const outputGradientRows = reserve(lanes, columns);
  if (!writes) return;
  workspace.delta = delta;
  workspace.tanhs = tanhs;
  workspace.kept = kept;
  workspace.scoreGradients = scoreGradients;
  workspace.queryRows = queryRows;
  workspace.queryGradients = queryGradients;
  workspace.outputGradients = outputGradients;
  workspace.outputGradientRows = outputGradientRows;
}

function layoutTables(call: Call, workspace: Workspace, isBackward: bool): void {
  const panels = panelsOf(call);
  const groups = (call.keysPerTile + LANES - 1) / LANES;
  const lineLength = call.keysPerTile + call.queriesPerTile + 4 * LANES;
  const ofBackward = isBackward ? 1 : 0;
  const ofKeys = rowsOf(call.keyTable);
  const ofQueries = rowsOf(call.queryTable);
  const ofValues = rowsOf(call.valueTable);
  const ownQuery = call.keyTableQuery !== 0 ? 1 : 0;
  const lookup = reserve((offsetof<Lookup>() as i32) >> 2);
  const lines = reserve((offsetof<Line>() as i32) * 4);
  const lineRows = reserve(4, lineLength);
  const entries = reserve(call.keysPerTile, LANES);
  const biasTableNumbers = reserve(call.keysPerTile + LANES, LANES);
  const keyTableQueries = reserve(ownQuery * panels, LANES, call.D);
  const keyTableProducts = products(panels, ofKeys);
  const valueTableProducts = products(panels, ofBackward * ofValues);
  const queryTableProducts = products(groups, ofQueries);
  const keyPanels = reserve(call.queryTable !== 0 ? groups * LANES : 0, call.D);
  const valueTableSums = reserve(panels, ofValues, LANES);
  const keyTableSums = reserve(ofBackward * panels, ofKeys, LANES);
  const queryTableSums = reserve(ofBackward * groups, ofQueries, LANES);
  const keyColumns = (call.D + 7) & ~7;
  const ofQueryTable = isBackward && call.queryTable !== 0 ? 1 : 0;
  const scaledKeys = reserve(ofQueryTable * groups, LANES, keyColumns);
  const keySums = reserve(ofQueryTable, LANES, keyColumns);
  const ofOwnQuery = ofBackward * ownQuery * panels * LANES;
  const keyTableQueryRows = reserve(ofOwnQuery, keyColumns);
  const keyTableQueryGradients = reserve(ofOwnQuery, keyColumns);
  if (!writes) return;
  workspace.lookup = changetype<Lookup>(lookup);
  workspace.lines = lines;
  for (let t = 0; t < 4; t++) {
    const line = changetype<Line>(lines + (t as usize) * offsetof<Line>());
    line.rows = lineRows + (((t * lineLength) as usize) << 2);
  }
  workspace.entries = entries;
  workspace.biasTableNumbers = biasTableNumbers;
  workspace.keyTableQueries = ownQuery !== 0 ? keyTableQueries : workspace.queries;
  workspace.keyTableProducts = changetype<Products>(keyTableProducts);
  workspace.valueTableProducts = changetype<Products>(valueTableProducts);
  workspace.queryTableProducts = changetype<Products>(queryTableProducts);
  workspace.keyPanels = keyPanels;
  workspace.valueTableSums = valueTableSums;
  workspace.keyTableSums = keyTableSums;
  workspace.queryTableSums = queryTableSums;
  workspace.scaledKeys = scaledKeys;
  workspace.keySums = keySums;
  workspace.keyTableQueryRows = keyTableQueryRows;
  workspace.keyTableQueryGradients = keyTableQueryGradients;
  memory.fill(queryTableSums, 0, ((ofBackward * groups * ofQueries * LANES) as usize) << 2);
}

function rowsOf(table: usize): i32 {
  return table === 0 ? 0 : changetype<Table>(table).R;
}

function products(groups: i32, R: i32): usize {
  const at = reserve((offsetof<Products>() as i32) >> 2);
  const numbers = reserve(groups, R, LANES);
  const stamps = reserve(groups, R);
  if (!writes) return at;
  const made = changetype<Products>(at);
  made.numbers = numbers;
  made.stamps = stamps;
  made.stamp = 0;
  made.R = R;
  memory.fill(stamps, 0, ((groups * R) as usize) << 2);
  return at;
}
