// The tables of a position method, and the positions of rows, written down for the module.
import type { DistanceIndex, KernelCall } from '@polyhead/core';
import { type CallTensors, floatsOnHeap, type HeapBlocks, positionsOf } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import { writeAll } from './structures';

/** What the module reads of tables; undefined where the call has none. */
export function tablesOnHeap(
  blocks: HeapBlocks,
  { relative, positions, sizes: { B, Sq, Skv } }: KernelCall,
  tensors: CallTensors,
) {
  const { biasTable, keyTable, keyTableQuery, queryTable, valueTable } = tensors;
  if (!(biasTable || keyTable || queryTable || valueTable)) return undefined;
  const table = (
    tensor: tf.Tensor2D | tf.Tensor3D | undefined,
    relativeTable: { readonly index: DistanceIndex } | undefined,
  ) => (tensor ? tableOnHeap(blocks, tensor, relativeTable!.index) : 0);
  return {
    queryPositions: blocks.write(eachPosition(positions.query, B, Sq)),
    keyPositions: blocks.write(eachPosition(positions.key, B, Skv)),
    biasTable: table(biasTable, relative?.bias),
    biasTableHides: biasTable && floatsOnHeap(biasTable).includes(-Infinity) ? 1 : 0,
    keyTable: table(keyTable, relative?.keys),
    keyTableQuery: keyTableQuery ? blocks.addressOf(keyTableQuery) : 0,
    queryTable: table(queryTable, relative?.queries),
    valueTable: table(valueTable, relative?.values),
  };
}

/** Numbers of a row as they lie for the module: a multiple of eight, but one of a bias. */
function tableWidth({ rank, shape }: tf.Tensor): number {
  return rank === 2 ? 1 : Math.ceil(shape[2]! / 8) * 8;
}

function tableOnHeap(
  blocks: HeapBlocks,
  tensor: tf.Tensor2D | tf.Tensor3D,
  { from, rows }: DistanceIndex,
): number {
  const [H, R] = tensor.shape;
  const width = tableWidth(tensor);
  const written = {
    rows: paddedRows(blocks, tensor, width),
    ...{ R, width, from },
    headStride: H === 1 ? 0 : R * width,
    entries: rows ? blocks.write(rows) : 0,
    entryCount: rows?.length ?? 0,
  };
  return writeAll(blocks, 'Table', [written]);
}

function paddedRows(blocks: HeapBlocks, tensor: tf.Tensor2D | tf.Tensor3D, width: number): number {
  const size = tensor.shape[2] ?? 1;
  if (width === size) return blocks.addressOf(tensor);
  const numbers = floatsOnHeap(tensor);
  const padded = new Float32Array((numbers.length / size) * width);
  for (let r = 0; r * size < numbers.length; r++)
    padded.set(numbers.subarray(r * size, (r + 1) * size), r * width);
  return blocks.write(padded);
}

/** One for each row, [B, S]. */
export function eachPosition(positions: KernelCall['positions']['query'], B: number, S: number): Int32Array {
  const each = new Int32Array(B * S);
  for (let b = 0; b < B; b++) each.set(positionsOf(positions, b, [0, S], S) as ArrayLike<number>, b * S);
  return each;
}
