// The gradient without a matrix of scores (Dao et al. 2022, 2205.14135, algorithm 4): weights are computed again as
// exp(score - logSumExp). With delta = dOutput · output - dLogSumExp, dScores = weights · (dOutput · value - delta).
import type { CallTensors } from '@polyhead/core/kernel';
import {
  type BackwardRow,
  beginBackwardRow,
  emptyBackwardRows,
  finishBackwardRow,
  hasGradient,
} from './backward-row';
import { dropoutFactors } from './dropout-of-pairs';
import type { Outcome } from './forward';
import type { HostCall } from './host-call';
import { addToRows, addWeighted, dots } from './inner-products';
import { scorePairs } from './pair-scores';
import { emptyRowQueries, readQuery } from './row-queries';
import { addBiasGradients, addQueryTableGradients } from './score-term-gradients';
import { addProducts, type RowOfTile, sumByRow } from './table-rows';
import { type RowTile, rowTiles, tileLoader, visibleSpans } from './tiles';
import { emptyPairs, findVisible } from './visible-pairs';

/** A sum for each number of each tensor that has a gradient, in doubles. */
export type Gradients = { readonly [name in keyof CallTensors]: Float64Array };

/** Of the output, and behind each row of it, where it was asked for, of its log-sum-exp. */
export interface ResultGradients {
  readonly numbers: ArrayLike<number>; // [B, Hq, Sq, width]
  readonly width: number; // Dv, or Dv + 1
}

/** What the gradient of a call is made from, and into. */
export interface Pass {
  readonly outcome: Outcome;
  readonly results: ResultGradients;
  readonly gradients: Gradients;
}

/** Adds to `gradients`. */
export function backward(call: HostCall, pass: Pass): void {
  const { B, Hkv } = call.sizes;
  const workspace = emptyWorkspace(call);
  for (let b = 0; b < B; b++) {
    for (let head = 0; head < Hkv; head++) {
      for (const rowTile of rowTiles(call, b, head)) backwardTile(call, pass, rowTile, workspace);
    }
  }
}

type Workspace = ReturnType<typeof emptyWorkspace>;

/** Room for one tile, which all tiles share. */
function emptyWorkspace(call: HostCall) {
  const numbers = () => new Float64Array(Math.min(call.tile.keys, call.sizes.Skv));
  return {
    loadTile: tileLoader(call),
    queries: emptyRowQueries(call),
    states: emptyBackwardRows(call),
    pairs: emptyPairs(call),
    factors: numbers(),
    kept: numbers(),
    dScores: numbers(),
  };
}

function backwardTile(call: HostCall, pass: Pass, rowTile: RowTile, workspace: Workspace): void {
  const { queries, states, loadTile, pairs } = workspace;
  const { sizes, tile: size } = call;
  const { b, head } = rowTile;
  const rows = rowTile.rows.filter((row) => hasGradient(pass, row));
  for (const row of rows) {
    readQuery(call, row, queries[row.slot]!);
    beginBackwardRow(call, pass, row, states[row.slot]!);
  }
  for (const span of visibleSpans(rows, size.keys)) {
    const tile = loadTile(rowTile, span);
    const first = (b * sizes.Hkv + head) * sizes.Skv + span[0];
    const sums: KeyValueSums = {
      dKeys: pass.gradients.key!.subarray(first * sizes.D),
      dValues: pass.gradients.value!.subarray(first * sizes.Dv),
    };
    for (const row of rows) {
      const at = { row, tile };
      findVisible(call, row, tile, pairs);
      if (pairs.count === 0) continue;
      scorePairs(call, at, queries[row.slot]!, pairs);
      throughOutput(call, at, sums, workspace);
      addBiasGradients(call, at, { ...pairs, numbers: workspace.dScores }, pass.gradients);
      throughScores(call, at, { ...sums, gradients: pass.gradients }, workspace);
    }
  }
  for (const row of rows) finishBackwardRow(call, { row, pass }, states[row.slot]!, queries[row.slot]!);
}

/** The gradients of the keys and values of a tile. */
interface KeyValueSums {
  readonly dKeys: Float64Array; // [columns, D]
  readonly dValues: Float64Array; // [columns, Dv]
}

/** From scores to the gradients of values, and of the scores. */
function throughOutput(call: HostCall, at: RowOfTile, sums: KeyValueSums, workspace: Workspace): void {
  const { states, pairs, factors, kept, dScores } = workspace;
  const { scores, columns, count } = pairs;
  const { dOutput, tableWeights, delta, logSumExp } = states[at.row.slot]!;
  const { values } = call.tables;
  dots(dOutput.vector, at.tile.values, pairs, dScores); // of the weights, so far
  if (values) addProducts(values, at, dOutput, { columns, count, numbers: dScores });
  if (call.dropout) dropoutFactors(call.dropout, at, pairs, factors);
  for (let n = 0; n < count; n++) {
    const weight = Math.exp(scores[n]! - logSumExp);
    const factor = call.dropout ? factors[n]! : 1;
    kept[n] = weight * factor;
    dScores[n] = weight * (dScores[n]! * factor - delta);
  }
  addToRows(sums.dValues, dOutput.vector, pairs, kept);
  if (values) sumByRow(values, at, { columns, count, numbers: kept }, tableWeights);
}

/** From the gradients of scores to those of queries and keys. */
function throughScores(
  call: HostCall,
  at: RowOfTile,
  { dKeys, gradients }: KeyValueSums & { readonly gradients: Gradients },
  { states, queries, pairs, dScores }: Workspace,
): void {
  const { row, tile } = at;
  const { slopes, columns, count } = pairs;
  const state: BackwardRow = states[row.slot]!;
  const dProducts = dScores;
  for (let n = 0; n < count; n++) dProducts[n]! *= call.softcap === 0 ? call.scale : call.scale * slopes[n]!;
  addWeighted(state.dQuery, tile.keys, pairs, dProducts);
  addToRows(dKeys, queries[row.slot]!.query, pairs, dProducts);
  const ofPairs = { columns, count, numbers: dProducts };
  if (call.tables.keys) sumByRow(call.tables.keys, at, ofPairs, state.dProducts);
  if (call.tables.queries) {
    addQueryTableGradients(call.tables.queries, at, ofPairs, { dKeys, dTable: gradients.queryTable! });
  }
}
