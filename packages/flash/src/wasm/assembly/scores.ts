// scores = softcap(scale · (q·k + q·keys_d + k·queries_d)) + bias + bias_d of the pairs of a panel and the current tile; hidden ones are -Infinity.
import { addBias } from './bias';
import { addBiasTable } from './bias-table';
import { Call } from './call';
import { keysTimesFour, keysTimesOne } from './decode-products';
import { addKeyTable } from './key-table';
import { loadPiece } from './key-tile';
import { hideByDense, hideBySpans } from './masks';
import { keysTimesPanel } from './products';
import { addQueryTable } from './query-table';
import { LANES, panelOf, Workspace } from './workspace';
import { capScores } from './softmax';

/** Where the scores of a panel begin: [keysPerTile, LANES], those of the tile's first key first. */
@inline
export function scoresOf(call: Call, workspace: Workspace, p: i32): usize {
  return workspace.scores + (((p * LANES * call.keysPerTile) as usize) << 2);
}

/** Where the gradients of its scores begin, which lie as they do. */
@inline
export function scoreGradientsOf(call: Call, workspace: Workspace, p: i32): usize {
  return workspace.scoreGradients + (((p * LANES * call.keysPerTile) as usize) << 2);
}

/** Whether a panel may hold a hidden pair. */
export function hidesPairs(call: Call, workspace: Workspace, p: i32): bool {
  return (
    panelOf(workspace, p).partial !== 0 || call.denseCount !== 0 || call.bias !== 0 || call.biasTableHides !== 0
  );
}

@inline
function multiplyKeys(call: Call, workspace: Workspace, slot: i32, keys: usize, count: i32, to: usize): void {
  const queries = workspace.queries + (((slot * call.D) as usize) << 2);
  if (workspace.fewRows === 0) keysTimesPanel(keys, workspace.keyStride, count, queries, call.D, to);
  else if (workspace.fewRows === 1) keysTimesOne(keys, workspace.keyStride, count, queries, call.D, to);
  else keysTimesFour(keys, workspace.keyStride, count, queries, call.D, to);
}

/**
 * Writes the scores of a panel from `panel.from` on.
 *
 * @param tanhs gets the hyperbolic tangents of softcap, where there is one; 0: nobody asks
 */
export function scorePanel(call: Call, workspace: Workspace, p: i32, scores: usize, tanhs: usize): void {
  const panel = panelOf(workspace, p);
  const count = panel.to - panel.from;
  const firstSlot = p * LANES;
  if (workspace.inPieces === 0) {
    const keys = workspace.keys + ((panel.from - workspace.tileFrom) as usize) * workspace.keyStride;
    multiplyKeys(call, workspace, firstSlot, keys, count, scores);
  } else {
    for (let key = panel.from, to = scores; key < panel.to; ) {
      const found = loadPiece(call, workspace, key, panel.to, false);
      multiplyKeys(call, workspace, firstSlot, workspace.keys, found, to);
      key += found;
      to += (found as usize) << 5;
    }
  }
  if (call.keyTable !== 0) addKeyTable(call, workspace, p, scores);
  if (call.queryTable !== 0) addQueryTable(call, workspace, p, scores);
  if (call.softcap !== 0) capScores(call, scores, count, tanhs);
  if (call.biasTable !== 0) addBiasTable(call, workspace, p, scores);
  if (call.bias !== 0) addBias(call, workspace, panel, firstSlot, scores);
  if (panel.partial !== 0) hideBySpans(call, workspace, panel, firstSlot, scores);
  if (call.denseCount !== 0) hideByDense(call, workspace, panel, firstSlot, scores);
}
