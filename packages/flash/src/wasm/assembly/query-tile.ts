// The query rows of a tile: some queries of all heads that share a key/value head, so that its keys are read once for the
// group. Eight rows make a panel.
import { Call } from './call';
import { hasTables } from './tables';
import { LANES, Panel, panelOf, Workspace, Row, rowOf } from './workspace';

/** Sets the rows of the queries from `first` on. */
export function setRows(call: Call, workspace: Workspace, b: i32, head: i32, first: i32): void {
  const count = min(call.queriesPerTile, call.Sq - first);
  const separates = hasTables(call);
  let slot = 0;
  for (let g = 0; g < call.G; g++) {
    const h = head * call.G + g;
    for (let i = first; i < first + count; i++) setRow(call, rowOf(workspace, slot++), b, h, i);
    if (separates) while (slot % LANES !== 0) setNoRow(rowOf(workspace, slot++));
  }
  workspace.rowCount = call.G * count;
  workspace.panelCount = (slot + LANES - 1) / LANES;
  for (; slot < workspace.panelCount * LANES; slot++) setNoRow(rowOf(workspace, slot));
  workspace.b = b;
  workspace.head = head;
  if (separates) setPositions(call, workspace);
}

/** Of all rows, and what panels have in common. */
function setPositions(call: Call, workspace: Workspace): void {
  for (let p = 0; p < workspace.panelCount; p++) {
    const panel = panelOf(workspace, p);
    const first = rowOf(workspace, p * LANES);
    panel.h = first.h;
    panel.isConsecutive = 1;
    for (let lane = 0; lane < LANES; lane++) {
      const row = rowOf(workspace, p * LANES + lane);
      if (row.n < 0) continue;
      row.position = load<i32>(call.queryPositions + (((workspace.b * call.Sq + row.i) as usize) << 2));
      if ((row.position as i64) !== (first.position as i64) + (lane as i64)) panel.isConsecutive = 0;
    }
  }
}

function setRow(call: Call, row: Row, b: i32, h: i32, i: i32): void {
  row.n = (b * call.Hq + h) * call.Sq + i;
  row.h = h;
  row.i = i;
  const planned = ((call.planB === 1 ? 0 : b) * call.planH + (call.planH === 1 ? 0 : h)) * call.Sq + i;
  row.spans = call.spans + (((planned * call.planWidth) as usize) << 3);
  row.from = i32.MAX_VALUE;
  row.to = 0;
  for (let s = 0; s < call.planWidth; s++) {
    const from = load<i32>(row.spans + ((s as usize) << 3));
    const to = load<i32>(row.spans + ((s as usize) << 3), 4);
    if (from >= to) continue;
    row.from = min(row.from, from);
    row.to = max(row.to, to);
  }
}

/** Makes a row one that sees nothing and adds nothing. */
export function setNoRow(row: Row): void {
  row.n = -1;
  row.from = i32.MAX_VALUE;
  row.to = 0;
}

/** The first key that some row sees; `lastKey` is one past the last. */
export function firstKey(workspace: Workspace): i32 {
  let first = i32.MAX_VALUE;
  for (let slot = 0; slot < workspace.panelCount * LANES; slot++) first = min(first, rowOf(workspace, slot).from);
  return first;
}

export function lastKey(workspace: Workspace): i32 {
  let last = 0;
  for (let slot = 0; slot < workspace.panelCount * LANES; slot++) last = max(last, rowOf(workspace, slot).to);
  return last;
}

/** Finds what each panel sees of the keys [from, to). False where none sees any. */
export function setPanels(call: Call, workspace: Workspace, from: i32, to: i32): bool {
  let any = false;
  for (let p = 0; p < workspace.panelCount; p++) {
    const panel = panelOf(workspace, p);
    setPanel(call, workspace, panel, p * LANES, from, to);
    if (panel.from < panel.to) any = true;
  }
  return any;
}

function setPanel(call: Call, workspace: Workspace, panel: Panel, firstSlot: i32, from: i32, to: i32): void {
  let first = to;
  let last = from;
  let visible = 0;
  let rows = 0;
  for (let slot = firstSlot; slot < firstSlot + LANES; slot++) {
    const row = rowOf(workspace, slot);
    if (row.n < 0) continue;
    rows++;
    for (let s = 0; s < call.planWidth; s++) {
      const begin = max(from, load<i32>(row.spans + ((s as usize) << 3)));
      const end = min(to, load<i32>(row.spans + ((s as usize) << 3), 4));
      if (begin >= end) continue;
      first = min(first, begin);
      last = max(last, end);
      visible += end - begin;
    }
  }
  panel.from = first;
  panel.to = last;
  panel.partial = visible < rows * (last - first) ? 1 : 0;
}

/** Writes rows of numbers, one for each row of the tile, as [panels, size, LANES], times `factor`. */
export function packRows(workspace: Workspace, from: usize, size: i32, factor: f32, to: usize): void {
  const panelBytes = ((size * LANES) as usize) << 2;
  for (let slot = 0; slot < workspace.panelCount * LANES; slot++) {
    const n = rowOf(workspace, slot).n;
    const row = from + (((n * size) as usize) << 2);
    let at = to + ((slot / LANES) as usize) * panelBytes + (((slot % LANES) as usize) << 2);
    for (let d: usize = 0; d < (size as usize); d++, at += LANES << 2) {
      store<f32>(at, n < 0 ? 0 : load<f32>(row + (d << 2)) * factor);
    }
  }
}

/** Writes them as [slots, columns], times `factor`, zeros behind `size` numbers. */
export function copyRows(
  workspace: Workspace,
  from: usize,
  size: i32,
  factor: f32,
  columns: i32,
  slots: i32,
  to: usize,
): void {
  for (let slot = 0; slot < slots; slot++, to += (columns as usize) << 2) {
    const n = rowOf(workspace, slot).n;
    memory.fill(to, 0, (columns as usize) << 2);
    if (n < 0) continue;
    const row = from + (((n * size) as usize) << 2);
    for (let at: usize = 0; at < (size as usize) << 2; at += 4) store<f32>(to + at, load<f32>(row + at) * factor);
  }
}

/** Writes the queries times `scale`: number by number, or row by row where there are few (see decode-products.ts). */
export function readQueries(call: Call, workspace: Workspace): void {
  workspace.fewRows = 0;
  if (workspace.rowCount <= 4 && workspace.panelCount === 1 && (call.D & 3) === 0)
    workspace.fewRows = workspace.rowCount === 1 ? 1 : 4;
  readRows(call, workspace, call.query, workspace.queries);
  if (call.keyTableQuery !== 0) readRows(call, workspace, call.keyTableQuery, workspace.keyTableQueries);
}

function readRows(call: Call, workspace: Workspace, from: usize, to: usize): void {
  if (workspace.fewRows === 0) {
    packRows(workspace, from, call.D, call.scale, to);
    return;
  }
  copyRows(workspace, from, call.D, call.scale, call.D, 4, to);
}
