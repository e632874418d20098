// Hidden pairs get a score of -Infinity, whatever their rows hold: NaN too.
import { Call, Dense } from './call';
import { tableBiasHides } from './lookup';
import { LANES, Panel, Room, Row, rowOf } from './room';
import { firstOf, fourthOf, NEGATIVE_INFINITY, secondOf, thirdOf } from './simd';

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

/** Hides the pairs where a dense mask is 0. */
export function hideByDense(call: Call, room: Room, panel: Panel, firstSlot: i32, scores: usize): void {
  for (let n = 0; n < call.denseCount; n++) {
    const dense = changetype<Dense>(call.dense + (n as usize) * offsetof<Dense>());
    const blocks = dense.strideK === 1 ? (panel.to - panel.from) & ~3 : 0;
    for (let half = 0; half < LANES; half += 4)
      hideBlocks(room, dense, panel, firstSlot, half, blocks, scores);
    for (let lane = 0; lane < LANES; lane++) {
      const row = rowOf(room, firstSlot + lane);
      if (row.n < 0) continue;
      const seen = denseRow(dense, room.b, row);
      for (let key = panel.from + blocks; key < panel.to; key++) {
        if (isTrue(dense, seen + key * dense.strideK)) continue;
        store<f32>(scores + (((key - panel.from) as usize) << 5) + ((lane as usize) << 2), NEGATIVE_INFINITY);
      }
    }
  }
}

/** Four rows by four keys at a time. */
function hideBlocks(
  room: Room,
  dense: Dense,
  panel: Panel,
  firstSlot: i32,
  half: i32,
  count: i32,
  scores: usize,
): void {
  const slot = firstSlot + half;
  const row0 = denseBlock(dense, room, slot, slot, panel);
  const row1 = denseBlock(dense, room, slot + 1, slot, panel);
  const row2 = denseBlock(dense, room, slot + 2, slot, panel);
  const row3 = denseBlock(dense, room, slot + 3, slot, panel);
  const step = (dense.size as usize) << 2;
  let at = scores + ((half as usize) << 2);
  for (let key = 0, offset: usize = 0; key < count; key += 4, offset += step, at += 128) {
    const a = truths(dense, row0 + offset);
    const b = truths(dense, row1 + offset);
    const c = truths(dense, row2 + offset);
    const d = truths(dense, row3 + offset);
    hideWhere(at, firstOf(a, b, c, d));
    hideWhere(at + 32, secondOf(a, b, c, d));
    hideWhere(at + 64, thirdOf(a, b, c, d));
    hideWhere(at + 96, fourthOf(a, b, c, d));
  }
}

/** Where the numbers of a row begin; where there is no row, those of another: nobody reads its scores. */
@inline
function denseBlock(dense: Dense, room: Room, slot: i32, other: i32, panel: Panel): usize {
  const row = rowOf(room, rowOf(room, slot).n < 0 ? other : slot);
  const first = row.n < 0 ? 0 : denseRow(dense, room.b, row) + panel.from;
  return dense.data + ((first * dense.size) as usize);
}

/** All bits of four numbers that are not 0. */
@inline
function truths(dense: Dense, at: usize): v128 {
  const numbers = dense.size === 4 ? v128.load(at) : widened(v128.load32_zero(at));
  return i32x4.ne(numbers, i32x4.splat(0));
}

@inline
function widened(bytes: v128): v128 {
  return i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(bytes));
}

@inline
function hideWhere(at: usize, isSeen: v128): void {
  v128.store(at, v128.bitselect(v128.load(at), f32x4.splat(NEGATIVE_INFINITY), isSeen));
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
  const blocks = call.biasK === 1 ? (panel.to - panel.from) & ~3 : 0;
  for (let half = 0; half < LANES; half += 4)
    addBiasBlocks(call, room, panel, firstSlot, half, blocks, scores);
  for (let lane = 0; lane < LANES; lane++) {
    const row = rowOf(room, firstSlot + lane);
    if (row.n < 0) continue;
    const bias = biasRow(call, room.b, row);
    let at = scores + ((blocks as usize) << 5) + ((lane as usize) << 2);
    for (let key = panel.from + blocks; key < panel.to; key++, at += 32) {
      const added = load<f32>(bias + (((key * call.biasK) as usize) << 2));
      store<f32>(at, added === NEGATIVE_INFINITY ? NEGATIVE_INFINITY : load<f32>(at) + added);
    }
  }
}

/** Four rows by four keys at a time. */
function addBiasBlocks(
  call: Call,
  room: Room,
  panel: Panel,
  firstSlot: i32,
  half: i32,
  count: i32,
  scores: usize,
): void {
  const slot = firstSlot + half;
  const row0 = biasBlock(call, room, slot, slot, panel);
  const row1 = biasBlock(call, room, slot + 1, slot, panel);
  const row2 = biasBlock(call, room, slot + 2, slot, panel);
  const row3 = biasBlock(call, room, slot + 3, slot, panel);
  let at = scores + ((half as usize) << 2);
  for (let key = 0, offset: usize = 0; key < count; key += 4, offset += 16, at += 128) {
    const a = v128.load(row0 + offset);
    const b = v128.load(row1 + offset);
    const c = v128.load(row2 + offset);
    const d = v128.load(row3 + offset);
    addOrHide(at, firstOf(a, b, c, d));
    addOrHide(at + 32, secondOf(a, b, c, d));
    addOrHide(at + 64, thirdOf(a, b, c, d));
    addOrHide(at + 96, fourthOf(a, b, c, d));
  }
}

@inline
function biasBlock(call: Call, room: Room, slot: i32, other: i32, panel: Panel): usize {
  const row = rowOf(room, rowOf(room, slot).n < 0 ? other : slot);
  if (row.n < 0) return call.bias; // a whole panel without rows is never asked for: the other half has some
  return biasRow(call, room.b, row) + ((panel.from as usize) << 2);
}

@inline
function addOrHide(at: usize, bias: v128): void {
  const hides = f32x4.splat(NEGATIVE_INFINITY);
  v128.store(at, v128.bitselect(hides, f32x4.add(v128.load(at), bias), f32x4.eq(bias, hides)));
}

@inline
function biasRow(call: Call, b: i32, row: Row): usize {
  const at = b * call.biasB + row.h * call.biasH + row.i * call.biasQ;
  return call.bias + ((at as usize) << 2);
}

/** Adds the gradients of scores to that of the bias. */
export function addBiasGradients(
  call: Call,
  gradient: usize,
  room: Room,
  panel: Panel,
  firstSlot: i32,
  scoreGradients: usize,
): void {
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
