// Attention without a matrix of scores (Dao et al. 2022, 2205.14135; Dao 2023, 2307.08691): for each tile of query rows, the
// tiles of keys that they see pass by once; each row keeps its rowMax, rowSum and unscaled output.
import { dropoutFactors } from './dropout-of-pairs';
import type { HostCall } from './host-call';
import { addWeighted } from './inner-products';
import { beginRow, emptyRowStates, logSumExpOf, type RowState, takeScores } from './online-softmax';
import { scorePairs } from './pair-scores';
import { emptyRowQueries, readQuery } from './row-queries';
import { addTable, type RowOfTile, sumByRow } from './table-rows';
import { type KeyTile, type QueryRow, rowTiles, tileLoader, visibleSpans } from './tiles';
import { emptyPairs, findVisible, type Pairs } from './visible-pairs';

export interface Outcome {
  readonly output: Float32Array; // [B, Hq, Sq, Dv]
  readonly logSumExp: Float64Array; // [B, Hq, Sq]; in doubles: the gradient takes exp(score - logSumExp)
}

export function forward(call: HostCall): Outcome {
  const { B, Hq, Hkv, Sq, Dv } = call.sizes;
  const outcome = {
    output: new Float32Array(B * Hq * Sq * Dv),
    logSumExp: new Float64Array(B * Hq * Sq),
  };
  const workspace = emptyWorkspace(call);
  for (let b = 0; b < B; b++) {
    for (let head = 0; head < Hkv; head++) forwardHead(call, { b, head }, workspace, outcome);
  }
  return outcome;
}

type Workspace = ReturnType<typeof emptyWorkspace>;

/** Room for one tile, which all tiles share. */
function emptyWorkspace(call: HostCall) {
  return {
    loadTile: tileLoader(call),
    queries: emptyRowQueries(call),
    states: emptyRowStates(call),
    pairs: emptyPairs(call),
    factors: new Float64Array(call.dropout ? call.tile.keys : 0),
  };
}

/** One key/value head and the query heads that share it. */
function forwardHead(
  call: HostCall,
  { b, head }: { readonly b: number; readonly head: number },
  workspace: Workspace,
  outcome: Outcome,
): void {
  const { queries, states, loadTile } = workspace;
  for (const rowTile of rowTiles(call, b, head)) {
    const { rows } = rowTile;
    for (const row of rows) {
      readQuery(call, row, queries[row.slot]!);
      beginRow(call, row, states[row.slot]!);
    }
    for (const span of visibleSpans(rows, call.tile.keys)) {
      const tile = loadTile(rowTile, span);
      for (const row of rows) forwardRow(call, row, tile, workspace);
    }
    for (const row of rows) finishRow(call, row, states[row.slot]!, outcome);
  }
}

function forwardRow(call: HostCall, row: QueryRow, tile: KeyTile, workspace: Workspace): void {
  const { queries, states, pairs, factors } = workspace;
  const state = states[row.slot]!;
  findVisible(call, row, tile, pairs);
  if (pairs.count === 0) return;
  const at = { row, tile };
  scorePairs(call, at, queries[row.slot]!, pairs);
  takeScores(state, pairs);
  if (call.dropout) {
    dropoutFactors(call.dropout, at, pairs, factors);
    for (let n = 0; n < pairs.count; n++) pairs.scores[n]! *= factors[n]!;
  }
  addValues(call, at, state, pairs);
}

/** `scores` hold weights, not divided by rowSum yet. */
function addValues({ tables }: HostCall, at: RowOfTile, state: RowState, pairs: Pairs): void {
  const { columns, count, scores } = pairs;
  addWeighted(state.output, at.tile.values, pairs, scores);
  if (tables.values) sumByRow(tables.values, at, { columns, count, numbers: scores }, state.tableWeights);
}

function finishRow(
  { tables }: HostCall,
  row: QueryRow,
  state: RowState,
  { output, logSumExp }: Outcome,
): void {
  logSumExp[row.n] = logSumExpOf(state);
  if (state.rowSum === 0) return; // it has seen nothing: zeros
  if (tables.values) addTable(tables.values, row.h, state.tableWeights, state.output);
  const Dv = state.output.length;
  for (let d = 0; d < Dv; d++) output[row.n * Dv + d] = state.output[d]! / state.rowSum;
}
