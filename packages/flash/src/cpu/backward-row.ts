// The gradient of a query row while the tiles of keys pass by.
import type { BackwardContext, Gradients } from './backward';
import type { Call } from './call';
import { finishKeyTable } from './key-table';
import { dot } from './products';
import { type QueryRow, type RowQuery, rowsPerTile } from './query-tile';
import { emptyProducts, lookupBuffers, type TableProducts } from './table-products';
import { finishValueTable } from './value-table';

export interface BackwardRow {
  readonly dOutput: TableProducts; // with the table of values
  /** The mean of the gradients of all weights, less the gradient of log-sum-exp. */
  delta: number;
  logSumExp: number;
  readonly dQuery: Float64Array; // [D]
  readonly keyTableSums: Float64Array; // [R], of the gradients of products with the table of keys
  readonly valueTableSums: Float64Array; // [R], of kept weights
}

export function emptyBackwardRows(call: Call): readonly BackwardRow[] {
  const { sizes, tables } = call;
  const buffers = lookupBuffers(call);
  return Array.from({ length: rowsPerTile(call) }, () => ({
    dOutput: emptyProducts(tables.valueTable, new Float64Array(sizes.Dv), buffers),
    delta: 0,
    logSumExp: 0,
    dQuery: new Float64Array(sizes.D),
    keyTableSums: new Float64Array(tables.keyTable?.R ?? 0),
    valueTableSums: new Float64Array(tables.valueTable?.R ?? 0),
  }));
}

/** A row whose results have no gradient, or that sees nothing, adds nothing and may hold anything, NaN too. */
export function hasGradient({ sizes: { Dv } }: Call, context: BackwardContext, { n }: QueryRow): boolean {
  const { forwardResult, dOutput, dLogSumExp } = context;
  if (forwardResult.logSumExp[n] === -Infinity) return false;
  if (dLogSumExp !== undefined && dLogSumExp[n] !== 0) return true;
  for (let d = 0; d < Dv; d++) if (dOutput[n * Dv + d] !== 0) return true;
  return false;
}

export function beginBackwardRow(
  { sizes: { Dv } }: Call,
  { forwardResult, dOutput, dLogSumExp }: BackwardContext,
  { n }: QueryRow,
  state: BackwardRow,
): void {
  const { vector, known } = state.dOutput;
  for (let d = 0; d < Dv; d++) vector[d] = dOutput[n * Dv + d]!;
  known.fill(0);
  state.delta = dot(vector, forwardResult.output, n * Dv) - (dLogSumExp?.[n] ?? 0);
  state.logSumExp = forwardResult.logSumExp[n]!;
  state.dQuery.fill(0);
  state.keyTableSums.fill(0);
  state.valueTableSums.fill(0);
}

export function finishBackwardRow(
  { tables, sinkLogits }: Call,
  { row, gradients }: { readonly row: QueryRow; readonly gradients: Gradients },
  state: BackwardRow,
  query: RowQuery,
): void {
  const { dQuery, delta, logSumExp, dOutput } = state;
  const { keyTable, valueTable } = tables;
  if (keyTable) finishKeyTable(keyTable, row, { sums: state.keyTableSums, query, dQuery }, gradients);
  if (valueTable) {
    const sums = { sums: state.valueTableSums, dOutput: dOutput.vector };
    finishValueTable(valueTable, row, sums, gradients);
  }
  gradients.query.set(dQuery, row.n * dQuery.length);
  const sink = sinkLogits?.[row.h] ?? -Infinity;
  if (sink !== -Infinity) gradients.sinkLogits![row.h]! -= Math.exp(sink - logSumExp) * delta; // its value is 0
}
