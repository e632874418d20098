// The module: what the host calls. It has no memory of its own, and no data in it: it works where tensors lie.
import { Product } from './call';
import { isOfFewRows, multiplyFewRows } from './few-rows';
import {
  isOfFewRowsOfBlocks,
  multiplyFewRowsOfBlocks,
  roundRows,
  workspaceOfBlocks,
} from './few-rows-of-blocks';
import { beginRows, multiplyRows, workspaceOf } from './many-rows';

export { addFour, addQuarters, dotFour } from './few-rows';
export { dotInt8, dotQ8, dotQ40, dotQ41 } from './few-rows-of-blocks';
export { fourRows, sixRows } from './tile';

/** Bytes of the workspace that one thread needs; 0: none. */
export function workspaceBytes(product: usize): f64 {
  const call = changetype<Product>(product);
  if (isOfFewRowsOfBlocks(call)) return workspaceOfBlocks(call) as f64;
  return isOfFewRows(call) ? 0 : (workspaceOf(call) as f64);
}

/** Gets the workspace of a thread ready, before its first unit of a product. */
export function begin(product: usize, workspace: usize): void {
  const call = changetype<Product>(product);
  if (isOfFewRowsOfBlocks(call)) roundRows(call, workspace);
  else if (!isOfFewRows(call)) beginRows(workspace);
}

/** Units that threads share: some rows by some columns. */
export function unitCount(product: usize): i32 {
  const call = changetype<Product>(product);
  return unitsOf(call.rows, call.unitRows) * unitsOf(call.columns, call.unitColumns);
}

@inline
function unitsOf(lines: i32, ofUnit: i32): i32 {
  return (lines + ofUnit - 1) / ofUnit;
}

export function unit(product: usize, workspace: usize, n: i32): void {
  const call = changetype<Product>(product);
  const across = unitsOf(call.columns, call.unitColumns);
  const row = (n / across) * call.unitRows;
  const column = (n % across) * call.unitColumns;
  const rowEnd = min(call.rows, row + call.unitRows);
  multiply(call, workspace, row, rowEnd, column, min(call.columns, column + call.unitColumns));
}

/** A whole product by one thread. */
export function all(product: usize, workspace: usize): void {
  const call = changetype<Product>(product);
  begin(product, workspace);
  multiply(call, workspace, 0, call.rows, 0, call.columns);
}

/** The rows [row, rowEnd) of the columns [from, to); `from` is a multiple of 8, so that each number is the same in all parts. */
function multiply(call: Product, workspace: usize, row: i32, rowEnd: i32, from: i32, to: i32): void {
  if (isOfFewRowsOfBlocks(call)) multiplyFewRowsOfBlocks(call, workspace, from, to);
  else if (isOfFewRows(call)) multiplyFewRows(call, from, to);
  else multiplyRows(call, workspace, row, rowEnd, from, to);
}
