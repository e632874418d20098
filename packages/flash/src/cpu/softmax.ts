// Softmax of a row whose scores come tile after tile (Milakov and Gimelshein 2018, 1805.02867): the largest score so far,
// the sum of exp(score - rowMax), and the sum of exp(score - rowMax) · value, rescaled whenever a larger score comes.
import type { Call } from './call';
import type { Pairs } from './masks';
import { type QueryRow, rowsPerTile } from './query-tile';

export interface RowState {
  rowMax: number;
  rowSum: number;
  readonly output: Float64Array; // [Dv], not divided by rowSum yet
  readonly valueTableSums: Float64Array; // [R], the weights that each row of the table of values has
}

export function emptyRowStates(call: Call): readonly RowState[] {
  const { sizes, tables } = call;
  return Array.from({ length: rowsPerTile(call) }, () => ({
    rowMax: -Infinity,
    rowSum: 0,
    output: new Float64Array(sizes.Dv),
    valueTableSums: new Float64Array(tables.valueTable?.R ?? 0),
  }));
}

/** A learned sink is one more score, whose value is 0. */
export function beginRow({ sinkLogits }: Call, { h }: QueryRow, state: RowState): void {
  const sink = sinkLogits?.[h] ?? -Infinity;
  state.rowMax = sink;
  state.rowSum = sink === -Infinity ? 0 : Math.exp(sink - sink);
  state.output.fill(0);
  state.valueTableSums.fill(0);
}

/** Takes in the scores of a tile, and leaves exp(score - rowMax) in their place. */
export function updateSoftmax(state: RowState, { scores, count }: Pairs): void {
  let rowMax = state.rowMax;
  for (let n = 0; n < count; n++) rowMax = Math.max(rowMax, scores[n]!); // NaN stays
  if (rowMax !== state.rowMax) rescale(state, rowMax);
  let sum = 0;
  for (let n = 0; n < count; n++) {
    const weight = Math.exp(scores[n]! - rowMax);
    scores[n] = weight;
    sum += weight;
  }
  state.rowSum += sum;
}

function rescale(state: RowState, rowMax: number): void {
  const factor = Math.exp(state.rowMax - rowMax); // 0 at the first tile
  const { output, valueTableSums } = state;
  for (let d = 0; d < output.length; d++) output[d]! *= factor;
  for (let r = 0; r < valueTableSums.length; r++) valueTableSums[r]! *= factor;
  state.rowSum *= factor;
  state.rowMax = rowMax;
}

/** -Infinity for a row that has seen nothing. */
export function logSumExpOf({ rowMax, rowSum }: RowState): number {
  return rowMax + Math.log(rowSum);
}
