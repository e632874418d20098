// One product written down on the heap of the wasm backend, and computed there.
import { addressOnHeap, allocateOnHeap, emptyOnHeap, freeOnHeap, heapMemory } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import { structures } from './compiled';
import type { DenseExports } from './module';

/** A factor as it lies: `line` is a row of the left one or a column of the right one, steps are in numbers. */
export interface Factor {
  readonly tensor: tf.Tensor;
  readonly lineStep: number;
  readonly termStep: number;
}

/** [lines, terms]: lines one after the other. */
export function byRows(tensor: tf.Tensor, terms: number): Factor {
  return { tensor, lineStep: terms, termStep: 1 };
}

/** [terms, lines]: lines side by side. */
export function byColumns(tensor: tf.Tensor, lines: number): Factor {
  return { tensor, lineStep: 1, termStep: lines };
}

/** `left` `right` + `bias`, none of which is empty. */
export interface Multiplication {
  readonly sizes: { readonly rows: number; readonly terms: number; readonly columns: number };
  readonly left: Factor;
  readonly right: Factor;
  /** [columns] */
  readonly bias?: tf.Tensor | undefined;
}

/**
 * @param shape of the result, in which rows follow each other
 * @throws UnsupportedError when the heap is exhausted
 */
export function multiplyOnHeap<R extends tf.Rank>(
  kernelIn: (memory: WebAssembly.Memory) => DenseExports,
  shape: tf.ShapeMap[R],
  multiplication: Multiplication,
): tf.Tensor<R> {
  const result = emptyOnHeap<R>(shape);
  const memory = heapMemory()!;
  const kernel = kernelIn(memory);
  const product = productIn(memory);
  writeProduct(memory, product, multiplication, addressOnHeap(result));
  const { columns } = multiplication.sizes;
  const workspaceBytes = kernel.workspaceBytes(product);
  const workspace = workspaceBytes > 0 ? allocateOnHeap(workspaceBytes) : 0;
  kernel.multiply(product, workspace, 0, columns);
  if (workspace > 0) freeOnHeap(workspace);
  return result;
}

const productOf = new WeakMap<WebAssembly.Memory, number>();

/** Where products are written down in a memory: one after the other, at the same place. */
function productIn(memory: WebAssembly.Memory): number {
  const known = productOf.get(memory);
  if (known !== undefined) return known;
  const address = allocateOnHeap(Object.keys(structures.Product).length * 4);
  productOf.set(memory, address);
  return address;
}

function writeProduct(
  memory: WebAssembly.Memory,
  product: number,
  { sizes: { rows, terms, columns }, left, right, bias }: Multiplication,
  to: number,
): void {
  // Addresses first: a tensor of another backend is moved to the heap, which may grow.
  const [ofLeft, ofRight] = [addressOnHeap(left.tensor), addressOnHeap(right.tensor)];
  const ofBias = bias ? addressOnHeap(bias) : 0;
  const steps = [left.lineStep * 4, left.termStep * 4, right.termStep * 4, right.lineStep * 4] as const;
  const words = new Int32Array(memory.buffer, product, 11);
  words[0] = rows;
  words[1] = terms;
  words[2] = columns;
  words[3] = ofLeft;
  words[4] = steps[0];
  words[5] = steps[1];
  words[6] = ofRight;
  words[7] = steps[2];
  words[8] = steps[3];
  words[9] = ofBias;
  words[10] = to;
}
