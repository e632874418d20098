// The forward pass of a call on the heap of tfjs's wasm backend.
import { addressOnHeap, type CallTensors, emptyOnHeap, type KernelCall } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import { callOnHeap, callSizes } from './call-on-heap';
import { HeapBlocks } from './heap-blocks';
import type { Runner } from './kernel-module';

export interface Outcome {
  readonly output: tf.Tensor4D; // [B, Hq, Sq, Dv]
  readonly sums: RowSums;
}

/** Of the scores of a row: the largest, and the sum of exp(score - rowMax). */
export interface RowSums {
  readonly rowMax: Float32Array; // [B, Hq, Sq]
  readonly rowSum: Float32Array;
}

export function runForward(runner: Runner, call: KernelCall, tensors: CallTensors): Outcome {
  const { B, Hq, Sq, Dv } = callSizes(call, tensors);
  const { kernel, tile } = runner;
  const rows = B * Hq * Sq;
  const output = emptyOnHeap<tf.Rank.R4>([B, Hq, Sq, Dv]);
  const blocks = new HeapBlocks();
  try {
    const rowMax = blocks.take(rows * 4);
    const rowSum = blocks.take(rows * 4);
    const written = callOnHeap(blocks, call, tensors, {
      tile,
      output: addressOnHeap(output),
      rowMax,
      rowSum,
    });
    const room = blocks.take(kernel.roomBytes(written, false));
    kernel.beginRoom(written, room, false);
    kernel.forward(written, room, 0, kernel.tileCount(written));
    return { output, sums: { rowMax: blocks.floats(rowMax, rows), rowSum: blocks.floats(rowSum, rows) } };
  } catch (error) {
    output.dispose();
    throw error;
  } finally {
    blocks.release();
  }
}

/** -Infinity for rows that have seen nothing. */
export function logSumExpOf({ rowMax, rowSum }: RowSums): Float32Array {
  return rowMax.map((most, n) => most + Math.log(rowSum[n]!));
}
