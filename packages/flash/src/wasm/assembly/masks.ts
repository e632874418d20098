// Hidden pairs get a score of -Infinity, whatever their rows hold: NaN too.
import { hidesByBias } from './bias';
import { Call, Dense } from './call';
import { hidesByBiasTable } from './lookup';
import { LANES, Panel, Workspace, Row, rowOf } from './workspace';
import { firstOf, fourthOf, NEGATIVE_INFINITY, secondOf, thirdOf } from './simd';

/** Hides the pairs between the spans of each row of a panel. `scores` are of the keys from `panel.from` on. */
export function hideBySpans(call: Call, workspace: Workspace, panel: Panel, firstSlot: i32, scores: usize): void {
  for (let lane = 0; lane < LANES; lane++) {
    const row = rowOf(workspace, firstSlot + lane);
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
export function hideByDense(call: Call, workspace: Workspace, panel: Panel, firstSlot: i32, scores: usize): void {
  for (let n = 0; n < call.denseCount; n++) {
    const dense = changetype<Dense>(call.dense + (n as usize) * offsetof<Dense>());
    const blocks = dense.strideK === 1 ? (panel.to - panel.from) & ~3 : 0;
    for (let half = 0; half < LANES; half += 4)
      hideBlocks(workspace, dense, panel, firstSlot, half, blocks, scores);
    for (let lane = 0; lane < LANES; lane++) {
      const row = rowOf(workspace, firstSlot + lane);
      if (row.n < 0) continue;
      const seen = denseRow(dense, workspace.b, row);
      for (let key = panel.from + blocks; key < panel.to; key++) {
        if (isTrue(dense, seen + key * dense.strideK)) continue;
        store<f32>(scores + (((key - panel.from) as usize) << 5) + ((lane as usize) << 2), NEGATIVE_INFINITY);
      }
    }
  }
}

/** Four rows by four keys at a time. */
function hideBlocks(
  workspace: Workspace,
  dense: Dense,
  panel: Panel,
  firstSlot: i32,
  half: i32,
  count: i32,
  scores: usize,
): void {
  const slot = firstSlot + half;
  const row0 = denseBlock(dense, workspace, slot, slot, panel);
  const row1 = denseBlock(dense, workspace, slot + 1, slot, panel);
  const row2 = denseBlock(dense, workspace, slot + 2, slot, panel);
  const row3 = denseBlock(dense, workspace, slot + 3, slot, panel);
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
function denseBlock(dense: Dense, workspace: Workspace, slot: i32, other: i32, panel: Panel): usize {
  const row = rowOf(workspace, rowOf(workspace, slot).n < 0 ? other : slot);
  const first = row.n < 0 ? 0 : denseRow(dense, workspace.b, row) + panel.from;
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

/** Whether a row sees a key, asked where weights of 0 would not hide a NaN. */
export function sees(call: Call, workspace: Workspace, row: Row, key: i32): bool {
  let inSpan = false;
  for (let s = 0; s < call.planWidth; s++) {
    const from = load<i32>(row.spans + ((s as usize) << 3));
    const to = load<i32>(row.spans + ((s as usize) << 3), 4);
    if (from <= key && key < to) inSpan = true;
  }
  if (!inSpan) return false;
  for (let n = 0; n < call.denseCount; n++) {
    const dense = changetype<Dense>(call.dense + (n as usize) * offsetof<Dense>());
    if (!isTrue(dense, denseRow(dense, workspace.b, row) + key * dense.strideK)) return false;
  }
  if (call.biasTableHides !== 0 && hidesByBiasTable(call, workspace, row, key)) return false;
  return call.bias === 0 || !hidesByBias(call, workspace.b, row, key);
}
