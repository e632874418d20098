// The bias, added to scores after scale and softcap. One of -Infinity hides its pair.
import { Call } from './call';
import { firstOf, fourthOf, NEGATIVE_INFINITY, secondOf, thirdOf } from './simd';
import { LANES, Panel, Row, rowOf, Workspace } from './workspace';

/** Adds the bias to the scores of a panel. */
export function addBias(call: Call, workspace: Workspace, panel: Panel, firstSlot: i32, scores: usize): void {
  const blocks = call.biasK === 1 ? (panel.to - panel.from) & ~3 : 0;
  for (let half = 0; half < LANES; half += 4)
    addBiasBlocks(call, workspace, panel, firstSlot, half, blocks, scores);
  for (let lane = 0; lane < LANES; lane++) {
    const row = rowOf(workspace, firstSlot + lane);
    if (row.n < 0) continue;
    const bias = biasRow(call, workspace.b, row);
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
  workspace: Workspace,
  panel: Panel,
  firstSlot: i32,
  half: i32,
  count: i32,
  scores: usize,
): void {
  const slot = firstSlot + half;
  const row0 = biasBlock(call, workspace, slot, slot, panel);
  const row1 = biasBlock(call, workspace, slot + 1, slot, panel);
  const row2 = biasBlock(call, workspace, slot + 2, slot, panel);
  const row3 = biasBlock(call, workspace, slot + 3, slot, panel);
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
function biasBlock(call: Call, workspace: Workspace, slot: i32, other: i32, panel: Panel): usize {
  const row = rowOf(workspace, rowOf(workspace, slot).n < 0 ? other : slot);
  if (row.n < 0) return call.bias; // a whole panel without rows is never asked for: the other half has some
  return biasRow(call, workspace.b, row) + ((panel.from as usize) << 2);
}

@inline
function addOrHide(at: usize, bias: v128): void {
  const hides = f32x4.splat(NEGATIVE_INFINITY);
  v128.store(at, v128.bitselect(hides, f32x4.add(v128.load(at), bias), f32x4.eq(bias, hides)));
}

/** Where the biases of a row begin. */
@inline
function biasRow(call: Call, b: i32, row: Row): usize {
  const at = b * call.biasB + row.h * call.biasH + row.i * call.biasQ;
  return call.bias + ((at as usize) << 2);
}

/** Adds the gradients of scores to that of the bias. */
export function addBiasGradients(
  call: Call,
  gradient: usize,
  workspace: Workspace,
  panel: Panel,
  firstSlot: i32,
  scoreGradients: usize,
): void {
  for (let lane = 0; lane < LANES; lane++) {
    const row = rowOf(workspace, firstSlot + lane);
    if (row.n < 0) continue;
    const bias = biasRow(call, workspace.b, row) - call.bias + gradient;
    let at = scoreGradients + ((lane as usize) << 2);
    for (let key = panel.from; key < panel.to; key++, at += 32) {
      const to = bias + (((key * call.biasK) as usize) << 2);
      store<f32>(to, load<f32>(to) + load<f32>(at));
    }
  }
}

/** Whether the bias of a pair is -Infinity. */
export function hidesByBias(call: Call, b: i32, row: Row, key: i32): bool {
  return load<f32>(biasRow(call, b, row) + (((key * call.biasK) as usize) << 2)) === NEGATIVE_INFINITY;
}
