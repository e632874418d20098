// scores += scale · q·keys_d: products of queries, or of queries of their own, with rows looked up by distance (Shaw et al. 2018,
// 1803.02155; Dai et al. 2019, 1901.02860).
import type { Gradients } from './backward';
import type { RowOfTile } from './key-tile';
import type { Table } from './lookup';
import type { OfPairs } from './products';
import type { QueryRow, RowQuery } from './query-tile';
import { addProducts, addTable, addToTable } from './table-products';

/** Adds the products to those of queries and keys. */
export function addKeyTable(table: Table, at: RowOfTile, query: RowQuery, ofPairs: OfPairs): void {
  addProducts(table, at, query.forKeyTable, ofPairs);
}

/**
 * From gradients of products, summed by table row, to those of the table and of the query it was multiplied with.
 *
 * @param dQuery of the row, [D]: what a query of its own takes the place of
 */
export function finishKeyTable(
  table: Table,
  { h, n }: QueryRow,
  { sums, query, dQuery }: KeyTableSums,
  gradients: Gradients,
): void {
  addToTable(gradients.keyTable!, table.firstRow(h), sums, query.forKeyTable.vector);
  const at = n * dQuery.length;
  addTable(table, h, sums, gradients.keyTableQuery?.subarray(at, at + dQuery.length) ?? dQuery);
}

interface KeyTableSums {
  readonly sums: Float64Array; // [R]
  readonly query: RowQuery;
  readonly dQuery: Float64Array; // [D]
}
