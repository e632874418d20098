// Weights of a tile written out, for who looks inside: exp(score - logSumExp).
import { Call } from './call';
import { loadTile } from './key-tile';
import { hasTables } from './lay-out';
import { lastKey, readQueries, setPanels, setRows } from './query-rows';
import { LANES, panelOf, Room, rowOf } from './room';
import { scorePanel, scoresOf } from './scores';
import { exp, NEGATIVE_INFINITY } from './simd';
import { beginTables, beginTile } from './tables';

/** Sets the query rows of a tile. `call.rowMax` holds log-sum-exp, [B, Hq, Sq]. */
export function beginWeights(call: Call, room: Room, head: i32, first: i32): void {
  setRows(call, room, head / call.Hkv, head % call.Hkv, first);
  readQueries(call, room);
  if (hasTables(call)) beginTables(call, room);
}

/**
 * Writes the weights of these rows for the keys [from, to), a tile at most: [G, queries, to - from], 0 where a pair is hidden.
 * False, and nothing written, where all are.
 */
export function weighTile(call: Call, room: Room, first: i32, from: i32, to: i32, weights: usize): bool {
  if (!setPanels(call, room, from, to)) return false;
  const end = min(to, lastKey(room)); // behind it a batch entry may have no keys
  loadTile(call, room, from, end);
  if (hasTables(call)) beginTile(call, room, end - from);
  const count = min(call.queriesPerTile, call.Sq - first);
  const bytes = ((to - from) as usize) << 2;
  memory.fill(weights, 0, ((call.G * count) as usize) * bytes);
  for (let p = 0; p < room.panelCount; p++) {
    const panel = panelOf(room, p);
    if (panel.from >= panel.to) continue;
    const scores = scoresOf(call, room, p);
    scorePanel(call, room, p, scores, 0);
    for (let lane = 0; lane < LANES; lane++) {
      const row = rowOf(room, p * LANES + lane);
      if (row.n < 0) continue;
      const logSumExp = load<f32>(call.rowMax + ((row.n as usize) << 2));
      const place = ((row.h % call.G) * count + row.i - first) as usize;
      let at = weights + place * bytes + (((panel.from - from) as usize) << 2);
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
