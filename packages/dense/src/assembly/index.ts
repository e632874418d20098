// The module: what the host calls. It has no memory of its own, and no data in it: it works where tensors lie.
import { Product } from './call';
import { isOfFewRows, multiplyFewRows } from './few-rows';
import { multiplyRows, workspaceOf } from './many-rows';

export { addEight, addFour } from './few-rows';
export { fourRows, sixRows } from './tile';

/** Bytes of the workspace that one thread needs; 0: none. */
export function workspaceBytes(product: usize): f64 {
  return isOfFewRows(changetype<Product>(product)) ? 0 : (workspaceOf(changetype<Product>(product)) as f64);
}

/** The columns [from, to) of a product; `from` is a multiple of 8. */
export function multiply(product: usize, workspace: usize, from: i32, to: i32): void {
  if (isOfFewRows(changetype<Product>(product))) multiplyFewRows(changetype<Product>(product), from, to);
  else multiplyRows(changetype<Product>(product), workspace, from, to);
}
