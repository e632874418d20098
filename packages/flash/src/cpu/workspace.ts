// What one tile of queries and one of keys are computed in, shared by all tiles of a pass.
import { emptyBackwardRows } from './backward-row';
import type { Call } from './call';
import { keyTileLoader } from './key-tile';
import { emptyPairs } from './masks';
import { emptyRowQueries } from './query-tile';
import { emptyRowStates } from './softmax';

export type ForwardWorkspace = ReturnType<typeof forwardWorkspace>;
export type BackwardWorkspace = ReturnType<typeof backwardWorkspace>;

export function forwardWorkspace(call: Call) {
  return { ...rowsAndPairs(call), states: emptyRowStates(call) };
}

export function backwardWorkspace(call: Call) {
  const numbers = () => new Float64Array(call.tile.keys);
  return { ...rowsAndPairs(call), states: emptyBackwardRows(call), kept: numbers(), dScores: numbers() };
}

function rowsAndPairs(call: Call) {
  return {
    loadTile: keyTileLoader(call),
    queries: emptyRowQueries(call),
    pairs: emptyPairs(call),
    factors: new Float64Array(call.dropout ? call.tile.keys : 0), // of dropout
  };
}
