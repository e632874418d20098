// The gradient without a matrix of scores (Dao et al. 2022, 2205.14135, algorithm 4): weights are computed again as
// exp(score - logSumExp). With delta = dOutput · output - dLogSumExp, dScores = weights · (dOutput · value - delta).
import type { CallTensors } from '@polyhead/core/kernel';
import { type BackwardRow, beginBackwardRow, finishBackwardRow, hasGradient } from './backward-row';
import { addBiasGradients } from './bias';
import { addBiasTableGradients } from './bias-table';
import type { Call } from './call';
import { dropoutFactors } from './dropout';
import type { ForwardResult } from './forward';
import { type RowOfTile, visibleSpans } from './key-tile';
import { findVisible } from './masks';
import { addToRows, addWeighted, dots } from './products';
import { addQueryTableGradients } from './query-table';
import { type QueryTile, queryTiles, readQuery } from './query-tile';
import { scorePairs } from './scores';
import { addProducts, sumByRow } from './table-products';
import { type BackwardWorkspace, backwardWorkspace } from './workspace';

/** A sum for each number of each tensor that has a gradient, in doubles. */
export type Gradients = { readonly [name in keyof CallTensors]: Float64Array };

/** What the gradient of a call is made from, and into. */
export interface BackwardContext {
  readonly forwardResult: ForwardResult;
  readonly dOutput: ArrayLike<number>; // [B, Hq, Sq, Dv]
  readonly dLogSumExp?: ArrayLike<number>; // [B, Hq, Sq]
  readonly gradients: Gradients;
}

/** Adds to `gradients`. */
export function backward(call: Call, context: BackwardContext): void {
  const { B, Hkv } = call.sizes;
  const workspace = backwardWorkspace(call);
  for (let b = 0; b < B; b++) {
    for (let head = 0; head < Hkv; head++) {
      for (const queryTile of queryTiles(call, b, head)) backwardTile(call, context, queryTile, workspace);
    }
  }
}

function backwardTile(
  call: Call,
  context: BackwardContext,
  queryTile: QueryTile,
  workspace: BackwardWorkspace,
): void {
  const { queries, states, loadTile, pairs } = workspace;
  const { sizes } = call;
  const { gradients } = context;
  const { b, head } = queryTile;
  const rows = queryTile.rows.filter((row) => hasGradient(call, context, row));
  for (const row of rows) {
    readQuery(call, row, queries[row.slot]!);
    beginBackwardRow(call, context, row, states[row.slot]!);
  }
  for (const span of visibleSpans(call, queryTile)) {
    const tile = loadTile(queryTile, span);
    const first = (b * sizes.Hkv + head) * sizes.Skv + span[0];
    const sums: KeyValueSums = {
      dKeys: gradients.key!.subarray(first * sizes.D),
      dValues: gradients.value!.subarray(first * sizes.Dv),
    };
    for (const row of rows) {
      const at = { row, tile };
      findVisible(call, row, tile, pairs);
      if (pairs.count === 0) continue;
      scorePairs(call, at, queries[row.slot]!, pairs);
      throughOutput(call, at, sums, workspace);
      throughBiases(call, at, gradients, workspace);
      throughScores(call, at, { ...sums, gradients }, workspace);
    }
  }
  for (const row of rows) finishBackwardRow(call, { row, gradients }, states[row.slot]!, queries[row.slot]!);
}

/** The gradients of the keys and values of a tile. */
interface KeyValueSums {
  readonly dKeys: Float64Array; // [columns, D]
  readonly dValues: Float64Array; // [columns, Dv]
}

/** From scores to the gradients of values, and of the scores. */
function throughOutput(call: Call, at: RowOfTile, sums: KeyValueSums, workspace: BackwardWorkspace): void {
  const { states, pairs, factors, kept, dScores } = workspace;
  const { scores, columns, count } = pairs;
  const { dOutput, valueTableSums, delta, logSumExp } = states[at.row.slot]!;
  const { valueTable } = call.tables;
  dots(dOutput.vector, at.tile.values, pairs, dScores); // of the weights, so far
  if (valueTable) addProducts(valueTable, at, dOutput, { columns, count, numbers: dScores });
  if (call.dropout) dropoutFactors(call.dropout, at, pairs, factors);
  for (let n = 0; n < count; n++) {
    const weight = Math.exp(scores[n]! - logSumExp);
    const factor = call.dropout ? factors[n]! : 1;
    kept[n] = weight * factor;
    dScores[n] = weight * (dScores[n]! * factor - delta);
  }
  addToRows(sums.dValues, dOutput.vector, pairs, kept);
  if (valueTable) sumByRow(valueTable, at, { columns, count, numbers: kept }, valueTableSums);
}

function throughBiases(
  { bias, tables }: Call,
  at: RowOfTile,
  gradients: Gradients,
  { pairs, dScores }: BackwardWorkspace,
): void {
  const ofPairs = { columns: pairs.columns, count: pairs.count, numbers: dScores };
  if (bias) addBiasGradients(bias, at, ofPairs, gradients.bias!);
  if (tables.biasTable) addBiasTableGradients(tables.biasTable, at, ofPairs, gradients.biasTable!);
}

/** From the gradients of scores to those of queries and keys. */
function throughScores(
  call: Call,
  at: RowOfTile,
  { dKeys, gradients }: KeyValueSums & { readonly gradients: Gradients },
  { states, queries, pairs, dScores }: BackwardWorkspace,
): void {
  const { row, tile } = at;
  const { slopes, columns, count } = pairs;
  const state: BackwardRow = states[row.slot]!;
  const keyTableSums = dScores;
  for (let n = 0; n < count; n++)
    keyTableSums[n]! *= call.softcap === 0 ? call.scale : call.scale * slopes[n]!;
  addWeighted(state.dQuery, tile.keys, pairs, keyTableSums);
  addToRows(dKeys, queries[row.slot]!.query, pairs, keyTableSums);
  const ofPairs = { columns, count, numbers: keyTableSums };
  if (call.tables.keyTable) sumByRow(call.tables.keyTable, at, ofPairs, state.keyTableSums);
  if (call.tables.queryTable) {
    addQueryTableGradients(call.tables.queryTable, at, ofPairs, { dKeys, dTable: gradients.queryTable! });
  }
}
