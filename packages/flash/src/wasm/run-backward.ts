// The gradient of a call on the heap of tfjs's wasm backend.
import type { CallSizes, KernelCall } from '@polyhead/core';
import {
  type CallTensors,
  emptyOnHeap,
  floatsOnHeap,
  type HeapBlocks,
  type ResultGradients,
} from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import { callOnHeap } from './call-on-heap';
import { backwardCost } from './pass-cost';
import type { RowSums } from './run-forward';
import { type PassHeap, type PassRunner, runPass } from './run-pass';
import { writeAll } from './structures';

/** What the forward pass saves for it. */
export interface SavedForward extends RowSums {
  readonly output: Float32Array; // [B, Hq, Sq, Dv]
}

/** The gradient of each tensor that has one. */
export type CallGradients = { readonly [name in keyof CallTensors]: tf.Tensor };

export function runBackward(
  runner: PassRunner,
  call: KernelCall,
  tensors: CallTensors,
  { saved, gradient }: { readonly saved: SavedForward; readonly gradient: ResultGradients },
): CallGradients {
  const { B, Hq, Hkv, Sq, Skv, D, Dv } = call.sizes;
  const gradients = emptyGradients(tensors);
  const computeIn = ({ blocks, compute }: PassHeap) => {
    const [rowMax, rowSum] = [blocks.write(saved.rowMax), blocks.write(saved.rowSum)];
    const delta = blocks.zeros(B * Hq * Sq);
    const key = paddedRows(blocks, gradients.key!, B * Hkv * Skv, D);
    const value = paddedRows(blocks, gradients.value!, B * Hkv * Skv, Dv);
    const tables = tableGradients(blocks, gradients);
    const into = {
      output: blocks.write(saved.output),
      outputGradient: blocks.addressOf(gradient.output),
      logSumExpGradient: gradient.logSumExp ? blocks.addressOf(gradient.logSumExp) : 0,
      query: blocks.sumsAt(gradients.query!),
      key: key.address,
      value: value.address,
      bias: gradients.bias ? blocks.sumsAt(gradients.bias) : 0,
      ...tables.addresses,
      delta,
    };
    const request = { tile: runner.tile, output: 0, rowMax, rowSum };
    const gradientsAt = writeAll(blocks, 'Gradients', [into]);
    compute(callOnHeap(blocks, call, tensors, { ...request, gradients: gradientsAt }));
    blocks.finishResults();
    key.finish();
    value.finish();
    tables.finish();
    if (!tensors.sinkLogits) return;
    const ofRows = { ...saved, delta: blocks.floats(delta, B * Hq * Sq) };
    floatsOnHeap(gradients.sinkLogits!).set(sinkGradients(call.sizes, tensors.sinkLogits.dataSync(), ofRows));
  };
  runPass(runner, () => backwardCost(call, tensors), computeIn);
  return gradients;
}

function emptyGradients(tensors: CallTensors): CallGradients {
  const entries: readonly [string, tf.Tensor][] = Object.entries(tensors);
  const empty = entries.map(([name, { shape }]) => [name, emptyOnHeap(shape as tf.ShapeMap[tf.Rank])]);
  return Object.fromEntries(empty) as unknown as CallGradients;
}

/** Rows that the kernel adds to are a multiple of eight numbers wide: the gradient itself, or workspace that is copied into it. */
function paddedRows(blocks: HeapBlocks, gradient: tf.Tensor, rows: number, size: number) {
  const width = Math.ceil(size / 8) * 8;
  if (width === size) return { address: blocks.sumsAt(gradient), finish: () => {} };
  const address = blocks.zeros(rows * width);
  return {
    address,
    finish() {
      const from = blocks.floatsAt(address, rows * width);
      const to = floatsOnHeap(gradient);
      for (let r = 0; r < rows; r++) to.set(from.subarray(r * width, r * width + size), r * size);
    },
  };
}

/** Of tables: those of biases are summed in doubles. */
function tableGradients(blocks: HeapBlocks, gradients: CallGradients) {
  const { biasTable, keyTable, keyTableQuery, queryTable, valueTable } = gradients;
  const sums = biasTable ? blocks.zeros(biasTable.size * 2) : 0;
  const [keys, queries, values] = [keyTable, queryTable, valueTable].map((gradient) =>
    gradient
      ? paddedRows(blocks, gradient, gradient.shape[0]! * gradient.shape[1]!, gradient.shape[2]!)
      : { address: 0, finish: () => {} },
  );
  return {
    addresses: {
      biasTable: sums,
      keyTable: keys!.address,
      keyTableQuery: keyTableQuery ? blocks.sumsAt(keyTableQuery) : 0,
      queryTable: queries!.address,
      valueTable: values!.address,
    },
    finish() {
      for (const rows of [keys!, queries!, values!]) rows.finish();
      if (biasTable)
        floatsOnHeap(biasTable).set(new Float64Array(blocks.memory.buffer, sums, biasTable.size));
    },
  };
}

/** A sink takes part in every row of its head with the value 0. */
function sinkGradients(
  { B, Hq, Sq }: CallSizes,
  sinkLogits: ArrayLike<number>,
  { rowMax, rowSum, delta }: RowSums & { readonly delta: Float32Array },
): Float32Array {
  const sums = new Float64Array(Hq);
  for (let n = 0; n < B * Hq * Sq; n++) {
    const h = Math.floor(n / Sq) % Hq;
    const sink = sinkLogits[h]!;
    if (sink === -Infinity || delta[n] === 0) continue;
    sums[h]! -= (Math.exp(sink - rowMax[n]!) / rowSum[n]!) * delta[n]!;
  }
  return Float32Array.from(sums);
}
