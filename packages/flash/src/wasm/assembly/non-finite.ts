// Sums where rows hold NaN or Infinity: without the pairs that are hidden, since 0 times NaN is NaN.
import { Call } from './call';
import { sees } from './masks';
import { addOuter, addWeighted } from './products';
import { LANES, Panel, panelOf, Workspace, rowOf } from './workspace';
import { scoreGradientsOf, scoresOf } from './scores';

/** Whether numbers times 0 are all 0. */
export function allFinite(rows: usize, stride: usize, count: i32, columns: i32): bool {
  const zero = f32x4.splat(0);
  let sum = zero;
  for (let row = 0; row < count; row++, rows += stride) {
    const end = rows + ((columns as usize) << 2);
    for (let at = rows; at < end; at += 16) sum = f32x4.add(sum, f32x4.mul(v128.load(at), zero));
  }
  return v128.any_true(f32x4.ne(sum, sum)) === false;
}

/** Whether hidden pairs do no harm: their weights are 0, and 0 times a number is 0. */
export function isSafe(workspace: Workspace, count: i32): bool {
  const slots = workspace.panelCount * LANES;
  return (
    allFinite(workspace.keys, workspace.keyStride, count, workspace.keyColumns) &&
    allFinite(workspace.queryRows, (workspace.keyColumns as usize) << 2, slots, workspace.keyColumns) &&
    allFinite(workspace.outputGradientRows, (workspace.columns as usize) << 2, slots, workspace.columns)
  );
}

/** The same sums, pair by pair, without those that are hidden. */
export function addPairs(call: Call, workspace: Workspace, p: i32, toKeys: usize, toValues: usize): void {
  const panel = panelOf(workspace, p);
  for (let key = panel.from; key < panel.to; key++) {
    const offset = (key - workspace.tileFrom) as usize;
    const keyBytes = (workspace.keyColumns as usize) << 2;
    const valueBytes = (workspace.columns as usize) << 2;
    for (let lane = 0; lane < LANES; lane++) {
      const slot = (p * LANES + lane) as usize;
      const at = (offset << 5) + ((lane as usize) << 2);
      const weight = load<f32>(scoresOf(call, workspace, p) + at);
      const gradient = load<f32>(scoreGradientsOf(call, workspace, p) + at);
      const values = workspace.outputGradientRows + slot * valueBytes;
      if (weight !== 0) addTimes(toValues + offset * valueBytes, weight, values, workspace.columns);
      if (gradient === 0) continue;
      addTimes(toKeys + offset * keyBytes, gradient, workspace.queryRows + slot * keyBytes, workspace.keyColumns);
      addTimes(
        workspace.queryGradients + slot * keyBytes,
        gradient,
        workspace.keys + offset * workspace.keyStride,
        workspace.keyColumns,
      );
    }
  }
}

function addTimes(to: usize, factor: f32, from: usize, count: i32): void {
  for (let n: usize = 0; n < (count as usize) << 2; n += 4) {
    store<f32>(to + n, load<f32>(to + n) + factor * load<f32>(from + n));
  }
}

/** What `addWeighted` does, without the values of hidden pairs: 0 times NaN is NaN. */
export function addSeenValues(call: Call, workspace: Workspace, panel: Panel, p: i32): void {
  const weights = scoresOf(call, workspace, p);
  for (let lane = 0; lane < LANES; lane++) {
    const slot = p * LANES + lane;
    const row = rowOf(workspace, slot);
    if (row.n < 0) continue;
    const to = workspace.outputs + (((slot * workspace.columns) as usize) << 2);
    const factor = load<f32>(workspace.factors + ((slot as usize) << 2));
    for (let d = 0; d < workspace.columns; d++) {
      const at = to + ((d as usize) << 2);
      store<f32>(at, load<f32>(at) * factor);
    }
    for (let key = panel.from; key < panel.to; key++) {
      if (!sees(call, workspace, row, key)) continue;
      const weight = load<f32>(weights + (((key - panel.from) as usize) << 5) + ((lane as usize) << 2));
      const value = workspace.values + ((key - workspace.tileFrom) as usize) * workspace.valueStride;
      for (let d = 0; d < workspace.columns; d++) {
        const at = (d as usize) << 2;
        store<f32>(to + at, load<f32>(to + at) + weight * load<f32>(value + at));
      }
    }
  }
}

/** What `addWeighted` does, values left out where the weight is 0. */
export function addWeightedSeen(
  weights: usize,
  values: usize,
  valueStride: usize,
  count: i32,
  factors: usize,
  to: usize,
  columns: i32,
): void {
  if (allFinite(values, valueStride, count, columns)) {
    addWeighted(weights, values, valueStride, count, factors, to, columns);
    return;
  }
  const bytes = (columns as usize) << 2;
  for (let row: usize = 0; row < 16; row += 4, to += bytes) {
    const factor = load<f32>(factors + row);
    for (let at: usize = 0; at < bytes; at += 4) store<f32>(to + at, load<f32>(to + at) * factor);
    for (let n = 0; n < count; n++) {
      const weight = load<f32>(weights + ((n as usize) << 5) + row);
      if (weight !== 0) addTimes(to, weight, values + (n as usize) * valueStride, columns);
    }
  }
}

/** What `addOuter` does, rows left out where the weight is 0. */
export function addOuterSeen(weights: usize, count: i32, rows: usize, columns: i32, to: usize): void {
  const bytes = (columns as usize) << 2;
  if (allFinite(rows, bytes, LANES, columns)) {
    addOuter(weights, count, rows, columns, to);
    return;
  }
  for (let n = 0; n < count; n++, weights += 32, to += bytes) {
    for (let row: usize = 0; row < (LANES as usize); row++) {
      const weight = load<f32>(weights + (row << 2));
      if (weight !== 0) addTimes(to, weight, rows + row * bytes, columns);
    }
  }
}
