// scores = softcap(scale · (q·k + q·keys_d + k·queries_d)) + bias + bias_d of the pairs of a panel and the current tile; hidden ones are -Infinity.
import { addTableBias } from './bias-table';
import { Call } from './call';
import { keysTimesFour, keysTimesOne } from './few-rows';
import { addKeyTable } from './key-table';
import { addBias, hideByDense, hideBySpans } from './masks';
import { keysTimesPanel } from './products';
import { addQueryTable } from './query-table';
import { LANES, panelOf, Room } from './room';
import { capScores } from './softmax';

/** Where the scores of a panel begin: [keysPerTile, LANES], those of the tile's first key first. */
@inline
export function scoresOf(call: Call, room: Room, p: i32): usize {
  return room.scores + (((p * LANES * call.keysPerTile) as usize) << 2);
}

/** Where the gradients of its scores begin, which lie as they do. */
@inline
export function scoreGradientsOf(call: Call, room: Room, p: i32): usize {
  return room.scoreGradients + (((p * LANES * call.keysPerTile) as usize) << 2);
}

/** Whether a panel may hold a hidden pair. */
export function hidesPairs(call: Call, room: Room, p: i32): bool {
  return (
    panelOf(room, p).partial !== 0 || call.denseCount !== 0 || call.bias !== 0 || call.biasTableHides !== 0
  );
}

/**
 * Writes the scores of a panel from `panel.from` on.
 *
 * @param tanhs gets the hyperbolic tangents of softcap, where there is one; 0: nobody asks
 */
export function scorePanel(call: Call, room: Room, p: i32, scores: usize, tanhs: usize): void {
  const panel = panelOf(room, p);
  const count = panel.to - panel.from;
  const firstSlot = p * LANES;
  const keys = room.keys + ((panel.from - room.tileFrom) as usize) * room.keyStride;
  const queries = room.queries + (((firstSlot * call.D) as usize) << 2);
  if (room.few === 0) keysTimesPanel(keys, room.keyStride, count, queries, call.D, scores);
  else if (room.few === 1) keysTimesOne(keys, room.keyStride, count, queries, call.D, scores);
  else keysTimesFour(keys, room.keyStride, count, queries, call.D, scores);
  if (call.keyTable !== 0) addKeyTable(call, room, p, scores);
  if (call.queryTable !== 0) addQueryTable(call, room, p, scores);
  if (call.softcap !== 0) capScores(call, scores, count, tanhs);
  if (call.biasTable !== 0) addTableBias(call, room, p, scores);
  if (call.bias !== 0) addBias(call, room, panel, firstSlot, scores);
  if (panel.partial !== 0) hideBySpans(call, room, panel, firstSlot, scores);
  if (call.denseCount !== 0) hideByDense(call, room, panel, firstSlot, scores);
}
