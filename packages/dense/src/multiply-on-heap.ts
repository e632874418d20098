// One product written down on the heap of the wasm backend, and computed there.
import type { QuantizedWeights } from '@polyhead/core';
import {
  addressOnHeap,
  allocateOnHeap,
  bytesOf,
  emptyOnHeap,
  freeOnHeap,
  heapMemory,
  type PassCost,
  type ThreadPool,
} from '@polyhead/core/kernel';
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

/** The module, and threads that may help. */
export interface Multiplier {
  readonly kernelIn: (memory: WebAssembly.Memory) => DenseExports;
  readonly pool: ThreadPool<DenseExports>;
}

/**
 * @param shape of the result, in which rows follow each other
 * @throws UnsupportedError when the heap is exhausted
 */
export function multiplyOnHeap<R extends tf.Rank>(
  { kernelIn, pool }: Multiplier,
  shape: tf.ShapeMap[R],
  multiplication: Multiplication,
): tf.Tensor<R> {
  const result = emptyOnHeap<R>(shape);
  try {
    const isShared = pool.reason === undefined && multiplyTogether(pool, multiplication, result);
    if (!isShared) multiplyAlone(kernelIn, multiplication, result);
    return result;
  } catch (error) {
    result.dispose();
    throw error;
  }
}

function multiplyAlone(
  kernelIn: Multiplier['kernelIn'],
  multiplication: Multiplication,
  result: tf.Tensor,
): void {
  const memory = heapMemory()!;
  const kernel = kernelIn(memory);
  const product = productIn(memory);
  const { rows, columns } = multiplication.sizes;
  const to = addressOnHeap(result);
  writeProduct({ memory, product, to, addressOf: addressOnHeap, unit: { rows, columns } }, multiplication);
  const workspaceBytes = kernel.workspaceBytes(product);
  const workspace = workspaceBytes > 0 ? allocateOnHeap(workspaceBytes) : 0;
  kernel.all(product, workspace);
  if (workspace > 0) freeOnHeap(workspace);
}

/** By several threads. @returns false where one is to do it */
function multiplyTogether(
  pool: Multiplier['pool'],
  multiplication: Multiplication,
  result: tf.Tensor,
): boolean {
  const shared = pool.share(
    () => costOf(multiplication),
    ({ blocks, threads, compute }) => {
      const product = blocks.reserve(productBytes);
      const to = blocks.resultAt(result);
      const addressOf = (tensor: tf.Tensor) => blocks.addressOf(tensor);
      const unit = unitOf(multiplication.sizes, threads);
      writeProduct({ memory: blocks.memory, product, to, addressOf, unit }, multiplication);
      compute(product);
      blocks.finishResults();
    },
  );
  return shared !== undefined;
}

/** What a product costs, and in how many parts it could be cut. */
export function costOf({ sizes, left, right, bias }: Multiplication): PassCost {
  const { rows, terms, columns } = sizes;
  const ofRight = 'tensor' in right ? [right.tensor] : Object.values(right.tensors);
  const read = [left.tensor, ...ofRight, ...(bias ? [bias] : [])];
  return {
    multiplyAdds: rows * terms * columns,
    bytes: read.reduce((sum, tensor) => sum + bytesOf(tensor), rows * columns * 4),
    units: Math.ceil((cutsRows(sizes) ? rows : columns) / leastLines),
  };
}

// A part packs both of its factors: of 256 lines that takes a tenth of its time.
const linesOfPart = 256;
const mostParts = 4; // of a thread: one that starts late, or is slow, does fewer
const leastLines = 24; // whole tiles, of rows and of columns
const rowsOfBlock = 96; // of fewer the left factor is packed once

type Sizes = Multiplication['sizes'];

/** Which side is cut into parts: the longer one, but no few rows. */
function cutsRows({ rows, columns }: Sizes): boolean {
  return rows > rowsOfBlock && rows >= columns;
}

/** What a thread computes at once. */
function unitOf(sizes: Sizes, threads: number): { readonly rows: number; readonly columns: number } {
  const { rows, columns } = sizes;
  const lines = cutsRows(sizes) ? rows : columns;
  const parts = Math.max(1, Math.min(mostParts, Math.floor(lines / (threads * linesOfPart))));
  const ofPart = Math.ceil(lines / (threads * parts * leastLines)) * leastLines;
  return cutsRows(sizes) ? { rows: ofPart, columns } : { rows, columns: ofPart };
}

const productOf = new WeakMap<WebAssembly.Memory, number>();

const productBytes = Object.keys(structures.Product).length * 4;

/** Where products of one thread are written down in a memory: one after the other, at the same place. */
function productIn(memory: WebAssembly.Memory): number {
  const known = productOf.get(memory);
  if (known !== undefined) return known;
  const address = allocateOnHeap(productBytes);
  productOf.set(memory, address);
  return address;
}

/** Where a product is written down, where its factors are, and in which parts it is computed. */
interface Place {
  readonly memory: WebAssembly.Memory;
  readonly product: number;
  readonly to: number;
  addressOf(tensor: tf.Tensor): number;
  readonly unit: { readonly rows: number; readonly columns: number };
}

function writeProduct(
  { memory, product, to, addressOf, unit }: Place,
  { sizes: { rows, terms, columns }, left, right, bias }: Multiplication,
): void {
  // Addresses first: a tensor of another backend is moved to the heap, which may grow.
  const ofLeft = addressOf(left.tensor);
  const ofRight = rightAt(right, addressOf);
  const ofBias = bias ? addressOf(bias) : 0;
  const words = new Int32Array(memory.buffer, product, productBytes / 4);
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
  words[15] = unit.rows;
  words[16] = unit.columns;
}

/** As `assembly/blocks.ts` numbers them; 0 are floats. */
export const formats: Readonly<Record<string, number>> = { int8: 1, Q8_0: 2, Q4_0: 3, Q4_1: 4 };

const floats = { format: 0, scales: 0, scaleStep: 0, blocksPerScale: 1 };

/** The fields that say how the right factor lies; steps in bytes. */
function rightAt(right: Factor | QuantizedWeights, addressOf: Place['addressOf']) {
  if ('tensor' in right) {
    const { tensor, lineStep, termStep } = right;
    return { ...floats, address: addressOf(tensor), lineStep: lineStep * 4, termStep: termStep * 4 };
  }
  const { blocks, scales } = right.tensors;
  return {
    address: addressOf(blocks!),
    lineStep: right.rowBytes,
    termStep: 0, // terms are in blocks
    format: formats[right.format]!,
    scales: scales ? addressOf(scales) : 0,
    scaleStep: (scales?.shape[1] ?? 0) * 4,
    blocksPerScale: right.blocksPerScale,
  };
}
