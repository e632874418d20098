// Biases of distances, added to scores after scale and softcap: T5 (Raffel et al. 2019, 1910.10683), ALiBi (Press et al. 2021,
// 2108.12409).
import { Call, Gradients, Table } from './call';
import { BIAS_TABLE, lookUp } from './lookup';
import { LANES, panelOf, Workspace } from './workspace';
import { NEGATIVE_INFINITY } from './simd';
import { gradientOf, tableOf } from './table-products';

/** Adds the biases of distances. One of -Infinity hides its pairs. */
export function addBiasTable(call: Call, workspace: Workspace, p: i32, scores: usize): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.biasTable);
  const lookup = workspace.lookup;
  lookUp(call, workspace, BIAS_TABLE, table, p);
  const count = panel.to - panel.from;
  const biases = tableOf(table, panel);
  // The biases in the order of the rows looked up.
  const isLine = lookup.stride < 0;
  const entries = isLine ? count + LANES - 1 : count * LANES;
  const rows = isLine ? lookup.at - (((count - 1) as usize) << 2) : lookup.at;
  for (let n = 0; n < entries; n++) {
    const at = (n as usize) << 2;
    const row = load<i32>(rows + at);
    store<f32>(workspace.biasTableNumbers + at, row < 0 ? 0 : load<f32>(biases + ((row as usize) << 2)));
  }
  const hides = f32x4.splat(NEGATIVE_INFINITY);
  let from = workspace.biasTableNumbers + (isLine ? ((count - 1) as usize) << 2 : 0);
  for (let key = 0; key < count; key++, scores += 32, from += lookup.stride) {
    for (let half: usize = 0; half < 32; half += 16) {
      const bias = v128.load(from + half);
      const sum = f32x4.add(v128.load(scores + half), bias);
      v128.store(scores + half, v128.bitselect(hides, sum, f32x4.eq(bias, hides)));
    }
  }
}

/** Biases of distances: sums in doubles, since few of them get the gradients of all pairs. */
export function addBiasTableGradients(
  call: Call,
  gradients: Gradients,
  workspace: Workspace,
  p: i32,
  scoreGradients: usize,
): void {
  const panel = panelOf(workspace, p);
  const table = changetype<Table>(call.biasTable);
  lookUp(call, workspace, BIAS_TABLE, table, p);
  const to = gradientOf(gradients.biasTable, table, panel.h, 8);
  const count = panel.to - panel.from;
  let entries = workspace.lookup.at;
  for (let key = 0; key < count; key++, entries += workspace.lookup.stride, scoreGradients += 32) {
    for (let n: usize = 0; n < 32; n += 4) {
      const row = load<i32>(entries + n);
      if (row < 0) continue;
      const at = to + ((row as usize) << 3);
      store<f64>(at, load<f64>(at) + (load<f32>(scoreGradients + n) as f64));
    }
  }
}
