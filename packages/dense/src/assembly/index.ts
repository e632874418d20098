// The module: what the host calls. It has no memory of its own, and no data in it: it works where tensors lie.
import { Product } from './call';
import { isOfFewRows, multiplyFewRows } from './few-rows';
import { isOfFewRowsOfBlocks, multiplyFewRowsOfBlocks, workspaceOfBlocks } from './few-rows-of-blocks';
import { multiplyRows, workspaceOf } from './many-rows';

export { addFour, addQuarters, dotFour } from './few-rows';
export { dotInt8, dotQ8, dotQ40, dotQ41 } from './few-rows-of-blocks';
export { fourRows, sixRows } from './tile';

/** Bytes of the workspace that one thread needs; 0: none. */
export function workspaceBytes(product: usize): f64 {
  const call = changetype<Product>(product);
  if (isOfFewRowsOfBlocks(call)) return workspaceOfBlocks(call) as f64;
  return isOfFewRows(call) ? 0 : (workspaceOf(call) as f64);
}

/** The columns [from, to) of a product; `from` is a multiple of 8. */
export function multiply(product: usize, workspace: usize, from: i32, to: i32): void {
  const call = changetype<Product>(product);
  if (isOfFewRowsOfBlocks(call)) multiplyFewRowsOfBlocks(call, workspace, from, to);
  else if (isOfFewRows(call)) multiplyFewRows(call, from, to);
  else multiplyRows(call, workspace, from, to);
}
