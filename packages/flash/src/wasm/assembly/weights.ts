// Weights of a tile written out, for who looks inside: exp(score - logSumExp).
import { Call } from './call';
import { loadTile } from './key-tile';
import { lastKey, readQueries, setPanels, setRows } from './query-tile';
import { LANES, panelOf, Workspace, rowOf } from './workspace';
import { scorePanel, scoresOf } from './scores';
import { exp, NEGATIVE_INFINITY } from './simd';
import { beginTables, beginTile, hasTables } from './tables';

/** Sets the query rows of a tile. `call.rowMax` holds log-sum-exp, [B, Hq, Sq]. */
export function beginWeights(call: Call, workspace: Workspace, head: i32, first: i32): void {
  setRows(call, workspace, head / call.Hkv, head % call.Hkv, first);
  readQueries(call, workspace);
  if (hasTables(call)) beginTables(call, workspace);
}

/**
 * Writes the weights of these rows for the keys [from, to), a tile at most: [G, queries, to - from], 0 where a pair is hidden.
 * False, and nothing written, where all are.
 */
export function weighTile(call: Call, workspace: Workspace, first: i32, from: i32, to: i32, weights: usize): bool {
  if (!setPanels(call, workspace, from, to)) return false;
  const end = min(to, lastKey(workspace)); // behind it a batch entry may have no keys
  loadTile(call, workspace, from, end);
  if (hasTables(call)) beginTile(call, workspace, end - from);
  const count = min(call.queriesPerTile, call.Sq - first);
  const bytes = ((to - from) as usize) << 2;
  memory.fill(weights, 0, ((call.G * count) as usize) * bytes);
  for (let p = 0; p < workspace.panelCount; p++) {
    const panel = panelOf(workspace, p);
    if (panel.from >= panel.to) continue;
    const scores = scoresOf(call, workspace, p);
    scorePanel(call, workspace, p, scores, 0);
    for (let lane = 0; lane < LANES; lane++) {
      const row = rowOf(workspace, p * LANES + lane);
      if (row.n < 0) continue;
      const logSumExp = load<f32>(call.rowMax + ((row.n as usize) << 2));
      const offset = ((row.h % call.G) * count + row.i - first) as usize;
      let at = weights + offset * bytes + (((panel.from - from) as usize) << 2);
      let score = scores + ((lane as usize) << 2);
      for (let key = panel.from; key < panel.to; key++, at += 4, score += 32) {
        const difference = load<f32>(score) - logSumExp;
        if (logSumExp !== NEGATIVE_INFINITY)
          store<f32>(at, f32x4.extract_lane(exp(f32x4.splat(difference)), 0));
      }
    }
  }
  return true;
}
