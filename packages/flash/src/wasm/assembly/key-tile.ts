// Keys and values of a tile: where they lie, or gathered from runs, pages and words of 8- or 4-bit numbers. Few query rows read
// them piece by piece instead: gathering would take as long as the products.
import { hidesPairs } from './scores';
import { Call, Matrix, Part, Run } from './call';
import { hasTables } from './tables';
import { unpackRow } from './unpack';
import { Workspace } from './workspace';

/** Of a piece: they stay in the nearest cache until they are multiplied. */
export const ROWS_UNPACKED: i32 = 16;

/** Finds the rows of the tokens [from, to) of the current head. */
export function loadTile(call: Call, workspace: Workspace, from: i32, to: i32): void {
  workspace.tileFrom = from;
  const run = findRun(call, workspace, from);
  const first = changetype<Run>(run);
  const part = changetype<Part>(first.part);
  const isWhole = first.token + first.count >= to;
  const row = first.row + workspace.head * part.headStride + from - first.token;
  const key = changetype<Matrix>(part.key);
  const value = changetype<Matrix>(part.value);
  const keysLie = isWhole && key.bits === 32 && workspace.keyColumns === call.D;
  const valuesLie = isWhole && value.bits === 32 && workspace.columns === call.Dv;
  const isFew = workspace.fewRows !== 0 && !hasTables(call) && !hidesPairs(call, workspace, 0);
  workspace.inPieces = isFew && !(keysLie && valuesLie) ? 1 : 0;
  if (keysLie) {
    workspace.keys = rowAt(key, row);
    workspace.keyStride = key.width as usize;
  } else {
    workspace.keys = workspace.gatheredKeys;
    workspace.keyStride = (workspace.keyColumns as usize) << 2;
    if (workspace.inPieces === 0) gather(workspace, run, from, to, false, call.D);
  }
  if (valuesLie) {
    workspace.values = rowAt(value, row);
    workspace.valueStride = value.width as usize;
  } else {
    workspace.values = workspace.gatheredValues;
    workspace.valueStride = (workspace.columns as usize) << 2;
    if (workspace.inPieces === 0) gather(workspace, run, from, to, true, call.Dv);
  }
}

/** The run of a token: among the many that pages make, the search begins at the last one found. */
function findRun(call: Call, workspace: Workspace, token: i32): usize {
  const entry = call.runsOf + ((workspace.b as usize) << 3);
  const runs = call.runs + (load<i32>(entry) as usize) * offsetof<Run>();
  const end = runs + (load<i32>(entry, 4) as usize) * offsetof<Run>();
  let run = workspace.run;
  if (run < runs || run >= end) run = runs;
  while (run > runs && changetype<Run>(run).token > token) run -= offsetof<Run>();
  while (run < end && changetype<Run>(run).token + changetype<Run>(run).count <= token) run += offsetof<Run>();
  workspace.run = run;
  return run;
}

/**
 * Finds the rows from a token on that lie together, or unpacks the first of them: `workspace.keys` or `values`.
 *
 * @returns how many, at most up to `to`
 */
export function loadPiece(call: Call, workspace: Workspace, token: i32, to: i32, ofValues: bool): i32 {
  const run = changetype<Run>(findRun(call, workspace, token));
  const part = changetype<Part>(run.part);
  const matrix = changetype<Matrix>(ofValues ? part.value : part.key);
  const row = run.row + workspace.head * part.headStride + token - run.token;
  let count = min(to, run.token + run.count) - token;
  const size = ofValues ? call.Dv : call.D;
  const columns = ofValues ? workspace.columns : workspace.keyColumns;
  let at = rowAt(matrix, row);
  let stride = matrix.width as usize;
  if (matrix.bits !== 32 || columns !== size) {
    count = min(count, ROWS_UNPACKED);
    at = ofValues ? workspace.gatheredValues : workspace.gatheredKeys;
    stride = (columns as usize) << 2;
    copyRows(matrix, row, count, size, at, stride);
  }
  if (ofValues) {
    workspace.values = at;
    workspace.valueStride = stride;
  } else {
    workspace.keys = at;
    workspace.keyStride = stride;
  }
  return count;
}

@inline
function rowAt(matrix: Matrix, row: i32): usize {
  return matrix.data + (row as usize) * (matrix.width as usize) + (matrix.first as usize);
}

/** Reads a word of each cache line of the rows of those tokens, so that memory works while others are multiplied. */
export function fetchRows(call: Call, workspace: Workspace, from: i32, to: i32, ofValues: bool): void {
  while (from < to) {
    const run = changetype<Run>(findRun(call, workspace, from));
    const part = changetype<Part>(run.part);
    const matrix = changetype<Matrix>(ofValues ? part.value : part.key);
    const count = min(to, run.token + run.count) - from;
    const row = run.row + workspace.head * part.headStride + from - run.token;
    from += count;
    if (matrix.bits !== 32) continue; // few bytes
    const end = rowAt(matrix, row + count);
    for (let at = rowAt(matrix, row); at < end; at += 64) load<i32>(at);
  }
}

function gather(workspace: Workspace, run: usize, from: i32, to: i32, ofValues: bool, size: i32): void {
  let at = ofValues ? workspace.values : workspace.keys;
  const stride = ofValues ? workspace.valueStride : workspace.keyStride;
  for (let token = from; token < to; run += offsetof<Run>()) {
    const current = changetype<Run>(run);
    const part = changetype<Part>(current.part);
    const matrix = changetype<Matrix>(ofValues ? part.value : part.key);
    const count = min(to, current.token + current.count) - token;
    copyRows(matrix, current.row + workspace.head * part.headStride + token - current.token, count, size, at, stride);
    token += count;
    at += stride * (count as usize);
  }
}

/** Rows as floats, `stride` bytes from one to the next, zeros behind each. */
function copyRows(matrix: Matrix, row: i32, count: i32, size: i32, at: usize, stride: usize): void {
  const bytes = (size as usize) << 2;
  for (const end = row + count; row < end; row++, at += stride) {
    if (matrix.bits === 32) memory.copy(at, rowAt(matrix, row), bytes);
    else unpackRow(matrix, rowAt(matrix, row), row, size, at);
    if (stride > bytes) memory.fill(at + bytes, 0, stride - bytes);
  }
}
