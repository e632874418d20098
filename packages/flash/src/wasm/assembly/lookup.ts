// Table rows by distance, for the pairs of a panel and the current tile. Where positions follow each other the rows of a key's
// pairs are eight neighbours of one line, which serves all panels of the tile.
import { Call, Table } from './call';
import { LANES, Line, panelOf, Workspace, Row, rowOf } from './workspace';
import { NEGATIVE_INFINITY } from './simd';

export const BIAS_TABLE: i32 = 0;
export const KEY_TABLE: i32 = 1;
export const QUERY_TABLE: i32 = 2;
export const VALUE_TABLE: i32 = 3;

const FAR: i64 = 1 << 30; // distances of a line have 32 bits

@inline
function lineOf(workspace: Workspace, which: i32): Line {
  return changetype<Line>(workspace.lines + (which as usize) * offsetof<Line>());
}

@inline
function keyPosition(call: Call, workspace: Workspace, key: i32): i32 {
  return load<i32>(call.keyPositions + (((workspace.b * call.Skv + key) as usize) << 2));
}

/** To be called for each tile of keys. */
export function beginLookup(call: Call, workspace: Workspace, count: i32): void {
  for (let which = 0; which < 4; which++) {
    const line = lineOf(workspace, which);
    line.from = 0;
    line.to = 0;
  }
  workspace.tileCount = count;
  workspace.keysAreConsecutive = 1;
  const first = keyPosition(call, workspace, workspace.tileFrom);
  for (let n = 1; n < count; n++) {
    if (distanceOf(keyPosition(call, workspace, workspace.tileFrom + n), first) !== (n as i64)) workspace.keysAreConsecutive = 0;
  }
}

/** The row of a distance, or -1 where the table has none. */
@inline
function rowAt(table: Table, distance: i64): i32 {
  let row = distance - (table.from as i64);
  if (table.entries !== 0) {
    const entry = max<i64>(0, min<i64>((table.entryCount - 1) as i64, row));
    row = load<i32>(table.entries + ((entry as usize) << 2)) as i64;
  }
  return row >= 0 && row < (table.R as i64) ? (row as i32) : -1;
}

/** Positions have 32 bits, their differences 33. */
@inline
function distanceOf(keyPosition: i32, queryPosition: i32): i64 {
  return (keyPosition as i64) - (queryPosition as i64);
}

/** Sets `workspace.lookup` for the pairs of a panel. */
export function lookUp(call: Call, workspace: Workspace, which: i32, table: Table, p: i32): void {
  const panel = panelOf(workspace, p);
  const lookup = workspace.lookup;
  const count = panel.to - panel.from;
  let at: usize;
  let entries: i32;
  const query = rowOf(workspace, p * LANES).position;
  const ofFirst = distanceOf(keyPosition(call, workspace, panel.from), query); // of the first key and lane 0
  const isLine = panel.isConsecutive !== 0 && workspace.keysAreConsecutive !== 0 && abs<i64>(ofFirst) < FAR;
  if (isLine) {
    const distance = ofFirst as i32;
    const line = lineOf(workspace, which);
    if (distance - (LANES - 1) < line.from || distance + count > line.to)
      fillLine(call, workspace, table, line, query);
    lookup.at = line.rows + (((line.to - 1 - distance) as usize) << 2);
    lookup.stride = -4;
    at = lookup.at - (((count - 1) as usize) << 2);
    entries = count + LANES - 1;
  } else {
    fillEntries(call, workspace, table, p);
    lookup.at = workspace.entries;
    lookup.stride = LANES << 2;
    at = lookup.at;
    entries = count * LANES;
  }
  const first = load<i32>(at);
  let from = first;
  let to = first;
  for (let n = 1; n < entries; n++) {
    const row = load<i32>(at + ((n as usize) << 2));
    from = min(from, row);
    to = max(to, row);
  }
  lookup.uniform = from === to ? first : -2;
  lookup.from = max(0, from);
  lookup.to = to + 1;
}

/** Whether the bias of a pair's distance is -Infinity. */
export function hidesByBiasTable(call: Call, workspace: Workspace, row: Row, key: i32): bool {
  const table = changetype<Table>(call.biasTable);
  const tableRow = rowAt(table, distanceOf(keyPosition(call, workspace, key), row.position));
  if (tableRow < 0) return false;
  return load<f32>(table.rows + (((row.h * table.headStride + tableRow) as usize) << 2)) === NEGATIVE_INFINITY;
}

/** All distances of the tile to queries from `query` on. */
function fillLine(call: Call, workspace: Workspace, table: Table, line: Line, query: i32): void {
  line.to = keyPosition(call, workspace, workspace.tileFrom + workspace.tileCount - 1) - query + 1;
  line.from = keyPosition(call, workspace, workspace.tileFrom) - query - (call.queriesPerTile + LANES);
  for (let distance = line.from; distance < line.to; distance++) {
    store<i32>(line.rows + (((line.to - 1 - distance) as usize) << 2), rowAt(table, distance as i64));
  }
}

function fillEntries(call: Call, workspace: Workspace, table: Table, p: i32): void {
  const panel = panelOf(workspace, p);
  for (let key = panel.from; key < panel.to; key++) {
    const position = keyPosition(call, workspace, key);
    const at = workspace.entries + (((key - panel.from) as usize) << 5);
    for (let lane = 0; lane < LANES; lane++) {
      const row = rowOf(workspace, p * LANES + lane);
      store<i32>(at + ((lane as usize) << 2), row.n < 0 ? -1 : rowAt(table, distanceOf(position, row.position)));
    }
  }
}
