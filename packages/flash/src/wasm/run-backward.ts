// The gradient of a call on the heap of tfjs's wasm backend.
import type { KernelCall } from '@polyhead/core';
import { type CallTensors, emptyOnHeap, floatsOnHeap } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import { type CallSizes, callOnHeap, callSizes } from './call-on-heap';
import type { HeapBlocks } from './heap-blocks';
import type { RowSums } from './run-forward';
import { type PassRoom, type PassRunner, runPass } from './run-pass';
import { backwardWork } from './threads/worth';

/** What the forward pass has found. */
export interface Found extends RowSums {
  readonly output: Float32Array; // [B, Hq, Sq, Dv]
}

/** The gradient of each tensor that has one. */
export type CallGradients = { readonly [name in keyof CallTensors]: tf.Tensor };

/** @param given gradient of the output, and behind each row, where it was asked for, of its log-sum-exp: [B, Hq, Sq, Dv | Dv + 1] */
export function runBackward(
  runner: PassRunner,
  call: KernelCall,
  tensors: CallTensors,
  { found, given }: { readonly found: Found; readonly given: tf.Tensor4D },
): CallGradients {
  const sizes = callSizes(call, tensors);
  const { B, Hq, Hkv, Sq, Skv, D, Dv } = sizes;
  const gradients = emptyGradients(tensors);
  const computeIn = ({ blocks, run }: PassRoom) => {
    const [rowMax, rowSum] = [blocks.write(found.rowMax), blocks.write(found.rowSum)];
    const results = { tile: runner.tile, output: 0, rowMax, rowSum };
    const written = callOnHeap(blocks, call, tensors, results);
    const delta = blocks.zeros(B * Hq * Sq);
    const key = paddedRows(blocks, gradients.key!, B * Hkv * Skv, D);
    const value = paddedRows(blocks, gradients.value!, B * Hkv * Skv, Dv);
    const tables = tableGradients(blocks, gradients);
    const into = {
      output: blocks.write(found.output),
      given: blocks.addressOf(given),
      givenWidth: given.shape[3],
      query: blocks.sumsAt(gradients.query!),
      key: key.address,
      value: value.address,
      bias: gradients.bias ? blocks.sumsAt(gradients.bias) : 0,
      ...tables.addresses,
      delta,
    };
    run({ call: written, gradients: blocks.writeAll('Gradients', [into]), heads: B * Hkv });
    blocks.finishResults();
    key.finish();
    value.finish();
    tables.finish();
    if (!tensors.sinkLogits) return;
    const ofRows = { ...found, delta: blocks.floats(delta, B * Hq * Sq) };
    floatsOnHeap(gradients.sinkLogits!).set(sinkGradients(sizes, tensors.sinkLogits.dataSync(), ofRows));
  };
  runPass(runner, backwardWork(call, tensors), computeIn);
  return gradients;
}

function emptyGradients(tensors: CallTensors): CallGradients {
  const entries: readonly [string, tf.Tensor][] = Object.entries(tensors);
  const empty = entries.map(([name, { shape }]) => [name, emptyOnHeap(shape as tf.ShapeMap[tf.Rank])]);
  return Object.fromEntries(empty) as unknown as CallGradients;
}

/** Rows that the kernel adds to are a multiple of eight numbers wide: the gradient itself, or room that is copied into it. */
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
