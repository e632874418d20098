// A call written down for the module: see assembly/call.ts. Tensors stay where they are.
import type { CallSizes, KernelCall, RowMatrix } from '@polyhead/core';
import type { CallTensors, HeapBlocks } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import type { TileSizes } from '../kernel-options';
import { type StoredRun, storedRuns } from '../stored-runs';
import { bytesOf, writeAll, writeParts } from './structures';
import { eachPosition, tablesOnHeap } from './tables-on-heap';

/** Where results go, and how much is computed at once. */
export interface PassRequest {
  readonly tile: TileSizes;
  readonly scoresOnly?: boolean; // values, and what dropout does to weights, do not matter
  readonly output: number; // address of [B, Hq, Sq, Dv]
  readonly rowMax: number; // of [B, Hq, Sq]
  readonly rowSum: number;
  readonly gradients?: number; // address of `Gradients`, of a backward pass
}

/** @returns the address of a `Call` */
export function callOnHeap(
  blocks: HeapBlocks,
  call: KernelCall,
  tensors: CallTensors,
  { tile, scoresOnly = false, output, rowMax, rowSum, gradients = 0 }: PassRequest,
): number {
  const { plan, sizes, softcap } = call;
  const { bias, sinkLogits } = tensors;
  const [planB, planH, , planWidth] = plan.shape;
  return writeParts(blocks, 'Call', [
    sizes,
    { Dv: scoresOnly ? 0 : sizes.Dv, G: sizes.Hq / sizes.Hkv },
    tilesOf(tile, sizes),
    { query: blocks.addressOf(tensors.query), output, rowMax, rowSum, gradients },
    { shrink: shrinkOf(call), scale: call.scale, dropoutKept: 1 },
    softcap ? capOf(softcap) : undefined,
    storedRows(blocks, call, tensors),
    { spans: blocks.write(plan.spans), planB, planH, planWidth },
    bias && biasOf(blocks, bias),
    plan.dense.length > 0 ? denseOf(blocks, plan.dense) : undefined,
    sinkLogits && { sinkLogits: blocks.addressOf(sinkLogits) },
    scoresOnly ? undefined : dropoutOf(blocks, call),
    tablesOnHeap(blocks, call, tensors),
    scoresOnly ? { valueTable: 0 } : undefined,
  ]);
}

/** Some queries of all heads that share keys, whole panels of eight where there are as many; and some keys. */
export function tilesOf(tile: TileSizes, { Hq, Hkv, Sq, Skv }: CallSizes) {
  const most = Math.max(1, Math.floor((tile.rows * Hkv) / Hq));
  const keys = Math.max(1, Math.min(Skv, tile.keys));
  return {
    queriesPerTile: Math.max(1, Math.min(Sq, most > 8 ? most - (most % 8) : most)),
    keysPerTile: Math.ceil(keys / 4) * 4, // a block of the products
  };
}

const mostFloat = (2 - 2 ** -23) * 2 ** 127;

/** Softcap, and what scores are multiplied by to be parts of it: as far as float32 holds them. */
function capOf(softcap: number) {
  return { softcap, inverseCap: Math.min(1 / softcap, mostFloat) };
}

/** A power of two: it changes no weight but for its exponent. */
function shrinkOf({ dropout, sizes }: KernelCall): number {
  const most = (sizes.Skv + 1) / (1 - (dropout?.rate ?? 0)); // the sink counted
  return 2 ** -Math.ceil(Math.log2(most));
}

/** Numbers from one index to the next along each axis: 0 where an axis of size 1 serves all. */
function strides([B, H, Q, K]: readonly [number, number, number, number]) {
  return {
    b: B === 1 ? 0 : H * Q * K,
    h: H === 1 ? 0 : Q * K,
    q: Q === 1 ? 0 : K,
    k: K === 1 ? 0 : 1,
  };
}

function biasOf(blocks: HeapBlocks, bias: tf.Tensor4D) {
  const { b, h, q, k } = strides(bias.shape);
  return { bias: blocks.addressOf(bias), biasB: b, biasH: h, biasQ: q, biasK: k };
}

function denseOf(blocks: HeapBlocks, masks: readonly tf.Tensor4D[]) {
  const written = masks.map((mask) => {
    const { b, h, q, k } = strides(mask.shape);
    const size = mask.dtype === 'bool' ? 1 : 4;
    return { data: blocks.addressOf(mask), size, strideB: b, strideH: h, strideQ: q, strideK: k };
  });
  return { dense: writeAll(blocks, 'Dense', written), denseCount: masks.length };
}

function dropoutOf(blocks: HeapBlocks, { dropout, order, sizes: { B, Sq, Skv } }: KernelCall) {
  if (!dropout || dropout.rate === 0) return undefined;
  const { rate, seed } = dropout;
  return {
    queryOrder: blocks.write(eachPosition(order.query, B, Sq)),
    keyOrder: blocks.write(eachPosition(order.key, B, Skv)),
    dropoutThreshold: Math.min(2 ** 32 - 1, Math.ceil(rate * 2 ** 32)) | 0,
    dropoutKept: 1 / (1 - rate),
    dropoutSeed: seed | 0,
  };
}

/** Runs of rows in token order, for each batch entry. */
function storedRows(blocks: HeapBlocks, { inputs, sizes: { B } }: KernelCall, { key, value }: CallTensors) {
  const { stored } = inputs;
  const parts = stored?.parts ?? [partOf(key!, value!)];
  const addresses = parts.map(({ key, value, headStride }) => {
    const matrices = writeAll(blocks, 'Matrix', [matrixOf(blocks, key), matrixOf(blocks, value)]);
    return writeAll(blocks, 'Part', [{ key: matrices, value: matrices + matrixBytes, headStride }]);
  });
  const runs: { token: number; count: number; row: number; part: number }[] = [];
  const runsOf = new Int32Array(B * 2);
  for (let b = 0; b < B; b++) {
    const runsOfEntry = stored ? storedRuns(stored, b) : wholeTensor(key!, b);
    runsOf[b * 2] = runs.length;
    runsOf[b * 2 + 1] = runsOfEntry.length;
    for (const { token, count, row, part } of runsOfEntry)
      runs.push({ token, count, row, part: addresses[part]! });
  }
  return { runs: writeAll(blocks, 'Run', runs), runsOf: blocks.write(runsOf) };
}

/** Tensors [B, H, S, N] are storage of one piece. */
function partOf(key: tf.Tensor4D, value: tf.Tensor4D) {
  return { key: { data: key, first: 0 }, value: { data: value, first: 0 }, headStride: key.shape[2] };
}

function wholeTensor({ shape: [, H, S] }: tf.Tensor4D, b: number): readonly StoredRun[] {
  return [{ part: 0, token: 0, count: S, row: b * H * S }];
}

const matrixBytes = bytesOf('Matrix');

type Rows = Pick<RowMatrix, 'first' | 'quantized'> & { readonly data: tf.Tensor };

function matrixOf(blocks: HeapBlocks, { data, first, quantized }: Rows) {
  const { scale, zero } = quantized ?? {};
  return {
    data: blocks.addressOf(data),
    width: data.shape[data.rank - 1]! * 4,
    first: first * 4,
    bits: quantized?.bits ?? 32,
    scale: scale ? blocks.addressOf(scale) : 0,
    zero: zero ? blocks.addressOf(zero) : 0,
    scaleColumns: scale?.shape[1] ?? 1,
    rowsPerScale: quantized?.rowsPerScale ?? 1,
  };
}
