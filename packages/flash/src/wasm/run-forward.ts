// The forward pass of a call on the heap of tfjs's wasm backend.
import type { KernelCall } from '@polyhead/core';
import { type CallTensors, emptyOnHeap } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import { callOnHeap } from './call-on-heap';
import { forwardCost } from './pass-cost';
import { type PassRunner, runPass } from './run-pass';

export interface ForwardResult {
  readonly output: tf.Tensor4D; // [B, Hq, Sq, Dv]
  readonly sums: RowSums; // empty where the call does not need them
}

/** Of the scores of a row: the largest, and the sum of exp(score - rowMax). */
export interface RowSums {
  readonly rowMax: Float32Array; // [B, Hq, Sq]
  readonly rowSum: Float32Array;
}

const noSums: RowSums = { rowMax: new Float32Array(0), rowSum: new Float32Array(0) };

export function runForward(runner: PassRunner, call: KernelCall, tensors: CallTensors): ForwardResult {
  const { B, Hq, Sq, Dv } = call.sizes;
  const { tile } = runner;
  const rows = B * Hq * Sq;
  const output = emptyOnHeap<tf.Rank.R4>([B, Hq, Sq, Dv]);
  try {
    const sums = runPass(
      runner,
      () => forwardCost(call, tensors, tile),
      ({ blocks, compute }) => {
        const [rowMax, rowSum] = [blocks.reserve(rows * 4), blocks.reserve(rows * 4)];
        const request = { tile, output: blocks.resultAt(output), rowMax, rowSum };
        compute(callOnHeap(blocks, call, tensors, request));
        blocks.finishResults();
        if (!call.isTaped && !call.returns?.includes('logSumExp')) return noSums;
        return { rowMax: blocks.floats(rowMax, rows), rowSum: blocks.floats(rowSum, rows) };
      },
    );
    return { output, sums };
  } catch (error) {
    output.dispose();
    throw error;
  }
}

/** -Infinity for rows that have seen nothing. */
export function logSumExpOf({ rowMax, rowSum }: RowSums): Float32Array {
  return rowMax.map((most, n) => most + Math.log(rowSum[n]!));
}
