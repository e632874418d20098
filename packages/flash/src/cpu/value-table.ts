// output += Σ weights · values_d: weights are summed by table row first (Shaw et al. 2018, 1803.02155).
import type { Gradients } from './backward';
import type { Table } from './lookup';
import type { QueryRow } from './query-tile';
import { addTable, addToTable } from './table-products';

/** Adds the weighted rows of the table to an output, [Dv]. */
export function addValueTable(table: Table, { h }: QueryRow, sums: Float64Array, output: Float64Array): void {
  addTable(table, h, sums, output);
}

/** From kept weights, summed by table row, and the gradient of the output, [Dv], to the gradient of the table. */
export function finishValueTable(
  table: Table,
  { h }: QueryRow,
  { sums, dOutput }: { readonly sums: Float64Array; readonly dOutput: Float64Array },
  gradients: Gradients,
): void {
  addToTable(gradients.valueTable!, table.firstRow(h), sums, dOutput);
}
