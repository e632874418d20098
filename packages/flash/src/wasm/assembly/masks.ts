// Hidden pairs get a score of -Infinity, whatever their rows hold: NaN too.
import { Call, Dense } from './call';
import { tableBiasHides } from './lookup';
import { LANES, Panel, Room, Row, rowOf } from './room';
import { NEGATIVE_INFINITY } from './simd';

/** Hides the pairs between the spans of each row of a panel. `scores` are of the keys from `panel.from` on. */
export function hideBySpans(call: Call, room: Room, panel: Panel, firstSlot: i32, scores: usize): void {
  for (let lane = 0; lane < LANES; lane++) {
    const row = rowOf(room, firstSlot + lane);
    if (row.n < 0) continue;
    const column = scores + ((lane as usize) << 2);
    let key = panel.from;
    for (let s = 0; s < call.planWidth; s++) {
      const from = min(panel.to, load<i32>(row.spans + ((s as usize) << 3)));
      const to = min(panel.to, load<i32>(row.spans + ((s as usize) << 3), 4));
      if (from >= to) continue; // empty, or behind the tile
      if (key < from) hide(column, key - panel.from, from - panel.from);
      key = max(key, to);
    }
    hide(column, key - panel.from, panel.to - panel.from);
  }
}

@inline
function hide(column: usize, from: i32, to: i32): void {
  for (let key = from; key < to; key++) store<f32>(column + ((key as usize) << 5), NEGATIVE_INFINITY);
}

export function hideByDense(call: Call, room: Room, panel: Panel, firstSlot: i32, scores: usize): void {
  for (let n = 0; n < call.denseCount; n++) {
    const dense = changetype<Dense>(call.dense + (n as usize) * offsetof<Dense>());
    for (let lane = 0; lane < LANES; lane++) {
      const row = rowOf(room, firstSlot + lane);
      if (row.n < 0) continue;
      const seen = denseRow(dense, room.b, row);
      for (let key = panel.from; key < panel.to; key++) {
        if (isTrue(dense, seen + key * dense.strideK)) continue;
        store<f32>(scores + (((key - panel.from) as usize) << 5) + ((lane as usize) << 2), NEGATIVE_INFINITY);
      }
    }
  }
}

@inline
function denseRow(dense: Dense, b: i32, row: Row): i32 {
  return b * dense.strideB + row.h * dense.strideH + row.i * dense.strideQ;
}

@inline
function isTrue(dense: Dense, n: i32): bool {
  const at = dense.data + ((n * dense.size) as usize);
  return (dense.size === 1 ? (load<u8>(at) as i32) : load<i32>(at)) !== 0;
}

/** Adds the bias; one of -Infinity hides a pair. */
export function addBias(call: Call, room: Room, panel: Panel, firstSlot: i32, scores: usize): void {
  for (let lane = 0; lane < LANES; lane++) {
    const row = rowOf(room, firstSlot + lane);
    if (row.n < 0) continue;
    const bias = biasRow(call, room.b, row);
    let at = scores + ((lane as usize) << 2);
    for (let key = panel.from; key < panel.to; key++, at += 32) {
      const added = load<f32>(bias + (((key * call.biasK) as usize) << 2));
      store<f32>(at, added === NEGATIVE_INFINITY ? NEGATIVE_INFINITY : load<f32>(at) + added);
    }
  }
}

@inline
function biasRow(call: Call, b: i32, row: Row): usize {
  const at = b * call.biasB + row.h * call.biasH + row.i * call.biasQ;
  return call.bias + ((at as usize) << 2);
}

/** Adds the gradients of scores to that of the bias. */
export function addBiasGradients(call: Call, gradient: usize, room: Room, panel: Panel, firstSlot: i32, scoreGradients: usize): void {
  for (let lane = 0; lane < LANES; lane++) {
    const row = rowOf(room, firstSlot + lane);
    if (row.n < 0) continue;
    const bias = biasRow(call, room.b, row) - call.bias + gradient;
    let at = scoreGradients + ((lane as usize) << 2);
    for (let key = panel.from; key < panel.to; key++, at += 32) {
      const to = bias + (((key * call.biasK) as usize) << 2);
      store<f32>(to, load<f32>(to) + load<f32>(at));
    }
  }
}

/** Whether a row sees a key, asked where weights of 0 would not hide a NaN. */
export function sees(call: Call, room: Room, row: Row, key: i32): bool {
  let inSpan = false;
  for (let s = 0; s < call.planWidth; s++) {
    const from = load<i32>(row.spans + ((s as usize) << 3));
    const to = load<i32>(row.spans + ((s as usize) << 3), 4);
    if (from <= key && key < to) inSpan = true;
  }
  if (!inSpan) return false;
  for (let n = 0; n < call.denseCount; n++) {
    const dense = changetype<Dense>(call.dense + (n as usize) * offsetof<Dense>());
    if (!isTrue(dense, denseRow(dense, room.b, row) + key * dense.strideK)) return false;
  }
  if (call.biasTableHides !== 0 && tableBiasHides(call, room, row, key)) return false;
  if (call.bias === 0) return true;
  return load<f32>(biasRow(call, room.b, row) + (((key * call.biasK) as usize) << 2)) !== NEGATIVE_INFINITY;
}
