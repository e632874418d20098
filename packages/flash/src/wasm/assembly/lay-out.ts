// Divides the room of a thread.
import { Call, Table } from './call';
import { aligned, LANES, Line, Lookup, Panel, Products, Room, roomAt, Row } from './room';

let next: u64 = 0;
let writes: bool = false;

/** Reserves `count * times * again` numbers. Counts on beyond 32 bits, so that the host can refuse what no memory holds. */
function take(count: i32, times: i32 = 1, again: i32 = 1): usize {
  const at = next as usize;
  next += ((((count as u64) * (times as u64) * (again as u64)) << 2) + 63) & ~63;
  return at;
}

/** Divides the bytes from `at` on for a pass, and returns the first behind them. At 0 it only counts. */
export function layOut(call: Call, at: usize, isBackward: bool): u64 {
  const room = roomAt(at);
  writes = at !== 0;
  next = (changetype<usize>(room) + aligned(offsetof<Room>())) as u64;
  layOutRows(call, room, isBackward);
  if (isBackward) layOutGradients(call, room);
  if (hasTables(call)) layOutTables(call, room, isBackward);
  return next + 64;
}

export function hasTables(call: Call): bool {
  return (call.biasTable | call.keyTable | call.queryTable | call.valueTable) !== 0;
}

/** The most panels that a tile has. Where there are tables a panel has rows of one head only. */
function panelsOf(call: Call): i32 {
  if (hasTables(call)) return call.G * ((call.queriesPerTile + LANES - 1) / LANES);
  return (call.G * call.queriesPerTile + LANES - 1) / LANES;
}

function layOutRows(call: Call, room: Room, isBackward: bool): void {
  const panels = panelsOf(call);
  const lanes = panels * LANES;
  const columns = (call.Dv + 7) & ~7;
  const keyColumns = isBackward ? (call.D + 7) & ~7 : call.D;
  const rows = take(lanes, (offsetof<Row>() as i32) >> 2);
  const panelsAt = take(panels, (offsetof<Panel>() as i32) >> 2);
  const queries = take(lanes, call.D);
  const scores = take(lanes, call.keysPerTile);
  const outputs = take(lanes, columns);
  const rowMax = take(lanes);
  const rowSum = take(lanes);
  const factors = take(lanes);
  const draws = take(lanes);
  const keyRoom = take(call.keysPerTile, keyColumns);
  const valueRoom = take(call.keysPerTile, columns);
  const ones = take(LANES);
  if (!writes) return;
  room.rows = rows;
  room.panels = panelsAt;
  room.queries = queries;
  room.scores = scores;
  room.outputs = outputs;
  room.columns = columns;
  room.keyColumns = keyColumns;
  room.rowMax = rowMax;
  room.rowSum = rowSum;
  room.factors = factors;
  room.draws = draws;
  room.keyRoom = keyRoom;
  room.valueRoom = valueRoom;
  room.ones = ones;
  for (let lane = 0; lane < LANES; lane++) store<f32>(ones + ((lane as usize) << 2), 1);
}

function layOutGradients(call: Call, room: Room): void {
  const lanes = panelsOf(call) * LANES;
  const columns = (call.Dv + 7) & ~7;
  const keyColumns = (call.D + 7) & ~7;
  const delta = take(lanes);
  const tanhs = take(call.keysPerTile, LANES);
  const kept = take(call.keysPerTile, LANES);
  const scoreGradients = take(lanes, call.keysPerTile);
  const queryRows = take(lanes, keyColumns);
  const queryGradients = take(lanes, keyColumns);
  const outputGradients = take(lanes, call.Dv);
  const outputGradientRows = take(lanes, columns);
  if (!writes) return;
  room.delta = delta;
  room.tanhs = tanhs;
  room.kept = kept;
  room.scoreGradients = scoreGradients;
  room.queryRows = queryRows;
  room.queryGradients = queryGradients;
  room.outputGradients = outputGradients;
  room.outputGradientRows = outputGradientRows;
}

function layOutTables(call: Call, room: Room, isBackward: bool): void {
  const panels = panelsOf(call);
  const groups = (call.keysPerTile + LANES - 1) / LANES;
  const lineLength = call.keysPerTile + call.queriesPerTile + 4 * LANES;
  const ofBackward = isBackward ? 1 : 0;
  const ofKeys = rowsOf(call.keyTable);
  const ofQueries = rowsOf(call.queryTable);
  const ofValues = rowsOf(call.valueTable);
  const ownQuery = call.keyTableQuery !== 0 ? 1 : 0;
  const lookup = take((offsetof<Lookup>() as i32) >> 2);
  const lines = take((offsetof<Line>() as i32) * 4);
  const lineRows = take(4, lineLength);
  const entries = take(call.keysPerTile, LANES);
  const tableBiases = take(call.keysPerTile + LANES, LANES);
  const tableQueries = take(ownQuery * panels, LANES, call.D);
  const keyProducts = products(panels, ofKeys);
  const valueProducts = products(panels, ofBackward * ofValues);
  const queryProducts = products(groups, ofQueries);
  const keyPanels = take(call.queryTable !== 0 ? groups * LANES : 0, call.D);
  const tableWeights = take(panels, ofValues, LANES);
  const keyTableSums = take(ofBackward * panels, ofKeys, LANES);
  const queryTableSums = take(ofBackward * groups, ofQueries, LANES);
  const keyColumns = (call.D + 7) & ~7;
  const ofQueryTable = isBackward && call.queryTable !== 0 ? 1 : 0;
  const scaledKeys = take(ofQueryTable * groups, LANES, keyColumns);
  const keySums = take(ofQueryTable, LANES, keyColumns);
  const ofOwnQuery = ofBackward * ownQuery * panels * LANES;
  const tableQueryRows = take(ofOwnQuery, keyColumns);
  const tableQueryGradients = take(ofOwnQuery, keyColumns);
  if (!writes) return;
  room.lookup = changetype<Lookup>(lookup);
  room.lines = lines;
  for (let t = 0; t < 4; t++) {
    const line = changetype<Line>(lines + (t as usize) * offsetof<Line>());
    line.rows = lineRows + (((t * lineLength) as usize) << 2);
  }
  room.entries = entries;
  room.tableBiases = tableBiases;
  room.tableQueries = ownQuery !== 0 ? tableQueries : room.queries;
  room.keyProducts = changetype<Products>(keyProducts);
  room.valueProducts = changetype<Products>(valueProducts);
  room.queryProducts = changetype<Products>(queryProducts);
  room.keyPanels = keyPanels;
  room.tableWeights = tableWeights;
  room.keyTableSums = keyTableSums;
  room.queryTableSums = queryTableSums;
  room.scaledKeys = scaledKeys;
  room.keySums = keySums;
  room.tableQueryRows = tableQueryRows;
  room.tableQueryGradients = tableQueryGradients;
  memory.fill(queryTableSums, 0, ((ofBackward * groups * ofQueries * LANES) as usize) << 2);
}

function rowsOf(table: usize): i32 {
  return table === 0 ? 0 : changetype<Table>(table).R;
}

function products(groups: i32, R: i32): usize {
  const at = take((offsetof<Products>() as i32) >> 2);
  const numbers = take(groups, R, LANES);
  const stamps = take(groups, R);
  if (!writes) return at;
  const made = changetype<Products>(at);
  made.numbers = numbers;
  made.stamps = stamps;
  made.stamp = 0;
  made.R = R;
  memory.fill(stamps, 0, ((groups * R) as usize) << 2);
  return at;
}
