// Keys and values of a tile: where they lie, or gathered from runs, pages and words of 8- or 4-bit numbers.
import { Call, Matrix, Part, Run } from './call';
import { Workspace } from './workspace';

/** Finds the rows of the tokens [from, to) of the current head. */
export function loadTile(call: Call, workspace: Workspace, from: i32, to: i32): void {
  workspace.tileFrom = from;
  const entry = call.runsOf + ((workspace.b as usize) << 3);
  const runs = call.runs + (load<i32>(entry) as usize) * offsetof<Run>();
  const end = runs + (load<i32>(entry, 4) as usize) * offsetof<Run>();
  let run = runs;
  while (run < end && changetype<Run>(run).token + changetype<Run>(run).count <= from) run += offsetof<Run>();
  const first = changetype<Run>(run);
  const part = changetype<Part>(first.part);
  const isWhole = first.token + first.count >= to;
  const row = first.row + workspace.head * part.headStride + from - first.token;
  const key = changetype<Matrix>(part.key);
  const value = changetype<Matrix>(part.value);
  if (isWhole && key.bits === 32 && workspace.keyColumns === call.D) {
    workspace.keys = rowAt(key, row);
    workspace.keyStride = key.width as usize;
    workspace.keysAhead = min(first.token + first.count - to, to - from);
  } else {
    workspace.keys = workspace.gatheredKeys;
    workspace.keyStride = (workspace.keyColumns as usize) << 2;
    workspace.keysAhead = 0;
    gather(workspace, run, from, to, false, call.D);
  }
  if (isWhole && value.bits === 32 && workspace.columns === call.Dv) {
    workspace.values = rowAt(value, row);
    workspace.valueStride = value.width as usize;
  } else {
    workspace.values = workspace.gatheredValues;
    workspace.valueStride = (workspace.columns as usize) << 2;
    gather(workspace, run, from, to, true, call.Dv);
  }
}

@inline
function rowAt(matrix: Matrix, row: i32): usize {
  return matrix.data + (row as usize) * (matrix.width as usize) + (matrix.first as usize);
}

function gather(workspace: Workspace, run: usize, from: i32, to: i32, ofValues: bool, size: i32): void {
  let at = ofValues ? workspace.values : workspace.keys;
  const stride = ofValues ? workspace.valueStride : workspace.keyStride;
  for (let token = from; token < to; run += offsetof<Run>()) {
    const current = changetype<Run>(run);
    const part = changetype<Part>(current.part);
    const matrix = changetype<Matrix>(ofValues ? part.value : part.key);
    const end = min(to, current.token + current.count);
    let row = current.row + workspace.head * part.headStride + token - current.token;
    for (; token < end; token++, row++, at += stride) {
      if (matrix.bits === 32) memory.copy(at, rowAt(matrix, row), (size as usize) << 2);
      else unpack(matrix, row, size, at);
      const bytes = (size as usize) << 2;
      if (stride > bytes) memory.fill(at + bytes, 0, stride - bytes);
    }
  }
}

/** A number n is scale · n, n with a sign; with a zero it is zero + scale · n, n without. */
function unpack(matrix: Matrix, row: i32, size: i32, to: usize): void {
  const words = rowAt(matrix, row);
  const bits = matrix.bits;
  const perWord = 32 / bits;
  const scales = ((row / matrix.rowsPerScale) * matrix.scaleColumns) as usize;
  for (let n = 0; n < size; n++) {
    const word = load<i32>(words + (((n / perWord) as usize) << 2));
    const up = word << (32 - bits - (n % perWord) * bits);
    const scale = (scales + (((n * matrix.scaleColumns) / size) as usize)) << 2;
    let x: f32;
    if (matrix.zero !== 0) {
      x = ((up as u32) >>> (32 - bits)) as f32;
      x = load<f32>(matrix.zero + scale) + load<f32>(matrix.scale + scale) * x;
    } else {
      x = load<f32>(matrix.scale + scale) * ((up >> (32 - bits)) as f32);
    }
    store<f32>(to + ((n as usize) << 2), x);
  }
}
