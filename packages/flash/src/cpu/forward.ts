// Attention without a matrix of scores (Dao et al. 2022, 2205.14135; Dao 2023, 2307.08691): for each tile of query rows, the
// tiles of keys that they see pass by once; each row keeps its rowMax, rowSum and unscaled output.
import type { Call } from './call';
import { dropoutFactors } from './dropout';
import { type KeyTile, type RowOfTile, visibleSpans } from './key-tile';
import { findVisible, type Pairs } from './masks';
import { addWeighted } from './products';
import { type QueryRow, queryTiles, readQuery } from './query-tile';
import { scorePairs } from './scores';
import { beginRow, logSumExpOf, type RowState, updateSoftmax } from './softmax';
import { sumByRow } from './table-products';
import { addValueTable } from './value-table';
import { type ForwardWorkspace, forwardWorkspace } from './workspace';

export interface ForwardResult {
  readonly output: Float32Array; // [B, Hq, Sq, Dv]
  readonly logSumExp: Float64Array; // [B, Hq, Sq]; in doubles: the gradient takes exp(score - logSumExp)
}

export function forward(call: Call): ForwardResult {
  const { B, Hq, Hkv, Sq, Dv } = call.sizes;
  const result = {
    output: new Float32Array(B * Hq * Sq * Dv),
    logSumExp: new Float64Array(B * Hq * Sq),
  };
  const workspace = forwardWorkspace(call);
  for (let b = 0; b < B; b++) {
    for (let head = 0; head < Hkv; head++) forwardHead(call, { b, head }, workspace, result);
  }
  return result;
}

/** One key/value head and the query heads that share it. */
function forwardHead(
  call: Call,
  { b, head }: { readonly b: number; readonly head: number },
  workspace: ForwardWorkspace,
  result: ForwardResult,
): void {
  const { queries, states, loadTile } = workspace;
  for (const queryTile of queryTiles(call, b, head)) {
    const { rows } = queryTile;
    for (const row of rows) {
      readQuery(call, row, queries[row.slot]!);
      beginRow(call, row, states[row.slot]!);
    }
    for (const span of visibleSpans(call, queryTile)) {
      const tile = loadTile(queryTile, span);
      for (const row of rows) forwardRow(call, row, tile, workspace);
    }
    for (const row of rows) finishRow(call, row, states[row.slot]!, result);
  }
}

function forwardRow(call: Call, row: QueryRow, tile: KeyTile, workspace: ForwardWorkspace): void {
  const { queries, states, pairs, factors } = workspace;
  const state = states[row.slot]!;
  findVisible(call, row, tile, pairs);
  if (pairs.count === 0) return;
  const at = { row, tile };
  scorePairs(call, at, queries[row.slot]!, pairs);
  updateSoftmax(state, pairs);
  if (call.dropout) {
    dropoutFactors(call.dropout, at, pairs, factors);
    for (let n = 0; n < pairs.count; n++) pairs.scores[n]! *= factors[n]!;
  }
  addValues(call, at, state, pairs);
}

/** `scores` hold weights, not divided by rowSum yet. */
function addValues({ tables }: Call, at: RowOfTile, state: RowState, pairs: Pairs): void {
  const { columns, count, scores } = pairs;
  addWeighted(state.output, at.tile.values, pairs, scores);
  if (tables.valueTable)
    sumByRow(tables.valueTable, at, { columns, count, numbers: scores }, state.valueTableSums);
}

function finishRow(
  { tables }: Call,
  row: QueryRow,
  state: RowState,
  { output, logSumExp }: ForwardResult,
): void {
  logSumExp[row.n] = logSumExpOf(state);
  if (state.rowSum === 0) return; // it has seen nothing: zeros
  if (tables.valueTable) addValueTable(tables.valueTable, row, state.valueTableSums, state.output);
  const Dv = state.output.length;
  for (let d = 0; d < Dv; d++) output[row.n * Dv + d] = state.output[d]! / state.rowSum;
}
