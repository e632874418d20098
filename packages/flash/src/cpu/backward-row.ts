// What the gradient of a query row gathers while the tiles of keys pass by.
import type { Pass } from './backward';
import type { HostCall } from './host-call';
import { dot } from './inner-products';
import type { RowQuery } from './row-queries';
import { addTable, addToTable, emptyProducts, emptyRoom, type TableProducts } from './table-rows';
import { type QueryRow, rowsPerTile } from './tiles';

export interface BackwardRow {
  readonly dOutput: TableProducts; // with the table of values
  /** The mean of the gradients of all weights, less the gradient of log-sum-exp. */
  delta: number;
  logSumExp: number;
  readonly dQuery: Float64Array; // [D]
  readonly dProducts: Float64Array; // [R], with the table of keys
  readonly tableWeights: Float64Array; // [R], of the table of values
}

export function emptyBackwardRows(call: HostCall): readonly BackwardRow[] {
  const { sizes, tables } = call;
  const room = emptyRoom(call);
  return Array.from({ length: rowsPerTile(call) }, () => ({
    dOutput: emptyProducts(tables.values, new Float64Array(sizes.Dv), room),
    delta: 0,
    logSumExp: 0,
    dQuery: new Float64Array(sizes.D),
    dProducts: new Float64Array(tables.keys?.R ?? 0),
    tableWeights: new Float64Array(tables.values?.R ?? 0),
  }));
}

/** A row whose results have no gradient, or that sees nothing, adds nothing and may hold anything, NaN too. */
export function hasGradient({ outcome, results: { numbers, width } }: Pass, { n }: QueryRow): boolean {
  if (outcome.logSumExp[n] === -Infinity) return false;
  for (let at = n * width; at < (n + 1) * width; at++) if (numbers[at] !== 0) return true;
  return false;
}

export function beginBackwardRow(
  { sizes: { Dv } }: HostCall,
  { outcome, results: { numbers, width } }: Pass,
  { n }: QueryRow,
  state: BackwardRow,
): void {
  const { dOutput } = state;
  for (let d = 0; d < Dv; d++) dOutput.vector[d] = numbers[n * width + d]!;
  dOutput.known.fill(0);
  const dLogSumExp = width > Dv ? numbers[n * width + Dv]! : 0;
  state.delta = dot(dOutput.vector, outcome.output, n * Dv) - dLogSumExp;
  state.logSumExp = outcome.logSumExp[n]!;
  state.dQuery.fill(0);
  state.dProducts.fill(0);
  state.tableWeights.fill(0);
}

export function finishBackwardRow(
  { tables, sinkLogits }: HostCall,
  { row: { h, n }, pass: { gradients } }: { readonly row: QueryRow; readonly pass: Pass },
  state: BackwardRow,
  { forTable: { vector: forTable } }: RowQuery,
): void {
  const { dQuery, dProducts, delta, logSumExp, dOutput, tableWeights } = state;
  const at = n * dQuery.length;
  if (tables.keys) {
    addToTable(gradients.keyTable!, tables.keys.firstRow(h), dProducts, forTable);
    const ofOwn = gradients.keyTableQuery?.subarray(at, at + dQuery.length);
    addTable(tables.keys, h, dProducts, ofOwn ?? dQuery);
  }
  if (tables.values) {
    addToTable(gradients.valueTable!, tables.values.firstRow(h), tableWeights, dOutput.vector);
  }
  gradients.query.set(dQuery, at);
  const sink = sinkLogits?.[h] ?? -Infinity;
  if (sink !== -Infinity) gradients.sinkLogits![h]! -= Math.exp(sink - logSumExp) * delta; // its value is 0
}
