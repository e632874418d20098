// One product written down on the heap of the wasm backend, and computed there.
import type { QuantizedWeights } from '@polyhead/core';
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
  readonly right: Factor | QuantizedWeights;
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
  try {
    const memory = heapMemory()!;
    const kernel = kernelIn(memory);
    const product = productIn(memory);
    writeProduct(memory, product, multiplication, addressOnHeap(result));
    const workspaceBytes = kernel.workspaceBytes(product);
    const workspace = workspaceBytes > 0 ? allocateOnHeap(workspaceBytes) : 0;
    kernel.multiply(product, workspace, 0, multiplication.sizes.columns);
    if (workspace > 0) freeOnHeap(workspace);
    return result;
  } catch (error) {
    result.dispose();
    throw error;
  }
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
  const ofLeft = addressOnHeap(left.tensor);
  const ofRight = rightOnHeap(right);
  const ofBias = bias ? addressOnHeap(bias) : 0;
  const words = new Int32Array(memory.buffer, product, 15);
  words[0] = rows;
  words[1] = terms;
  words[2] = columns;
  words[3] = ofLeft;
  words[4] = left.lineStep * 4;
  words[5] = left.termStep * 4;
  words[6] = ofRight.address;
  words[7] = ofRight.termStep;
  words[8] = ofRight.lineStep;
  words[9] = ofBias;
  words[10] = to;
  words[11] = ofRight.format;
  words[12] = ofRight.scales;
  words[13] = ofRight.scaleStep;
  words[14] = ofRight.blocksPerScale;
}

/** As `assembly/blocks.ts` numbers them; 0 are floats. */
export const formats: Readonly<Record<string, number>> = { int8: 1, Q8_0: 2, Q4_0: 3, Q4_1: 4 };

const floats = { format: 0, scales: 0, scaleStep: 0, blocksPerScale: 1 };

/** The fields that say how the right factor lies; steps in bytes. */
function rightOnHeap(right: Factor | QuantizedWeights) {
  if ('tensor' in right) {
    const { tensor, lineStep, termStep } = right;
    return { ...floats, address: addressOnHeap(tensor), lineStep: lineStep * 4, termStep: termStep * 4 };
  }
  const { blocks, scales } = right.tensors;
  return {
    address: addressOnHeap(blocks!),
    lineStep: right.rowBytes,
    termStep: 0, // terms are in blocks
    format: formats[right.format]!,
    scales: scales ? addressOnHeap(scales) : 0,
    scaleStep: (scales?.shape[1] ?? 0) * 4,
    blocksPerScale: right.blocksPerScale,
  };
}
