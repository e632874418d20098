// Weights of a call by the WebAssembly kernel: its scores again, and exp(score - logSumExp) of each, a tile at a time.
import type { CallSizes, KernelCall } from '@polyhead/core';
import { type CallTensors, callTensors, HeapBlocks, heapMemory } from '@polyhead/core/kernel';
import type { CallWeights, WeightRegion, WeightSource, WeightTile } from '../statistics/weight-tiles';
import { callOnHeap, tilesOf } from './call-on-heap';
import { kernelIn, modules, type Runner, reasonsWithoutHeap } from './kernel-module';
import { logSumExpOf } from './run-forward';

const tile = { rows: 64, keys: 64 };

export const wasmWeights: WeightSource = {
  unsupported: () => reasonsWithoutHeap(),
  open(call: KernelCall): CallWeights {
    const kernel = kernelIn(heapMemory()!, modules.knowsRelaxedSimd() ? 'relaxed' : 'plain');
    const opened = { runner: { kernel, tile }, call, tensors: callTensors(call) };
    return {
      logSumExp: (region) => logSumExpOfRegion(opened, region),
      visit: (region, logSumExp, onTile) => visit(opened, { region, logSumExp }, onTile),
    };
  },
};

interface Opened {
  readonly runner: Runner;
  readonly call: KernelCall;
  readonly tensors: CallTensors;
}

/** A call on the heap as far as its scores need it. `rowMax` and `rowSum` are two halves of the same numbers. */
function scoresOnHeap(blocks: HeapBlocks, { runner, call, tensors }: Opened, rows: Float32Array) {
  const { kernel } = runner;
  const rowMax = blocks.write(rows);
  const rowSum = blocks.reserve(rows.byteLength);
  const written = callOnHeap(blocks, call, tensors, { tile, scoresOnly: true, output: 0, rowMax, rowSum });
  const workspace = blocks.reserve(kernel.workspaceBytes(written));
  kernel.begin(written, workspace);
  return { written, workspace, rowMax, rowSum };
}

function logSumExpOfRegion(opened: Opened, region: WeightRegion): Float64Array {
  const sizes = opened.call.sizes;
  const rows = sizes.B * sizes.Hq * sizes.Sq;
  const blocks = new HeapBlocks();
  try {
    const { written, workspace, rowMax, rowSum } = scoresOnHeap(
      blocks,
      opened,
      new Float32Array(rows).fill(-Infinity),
    );
    const { queriesPerTile } = tilesOf(tile, sizes);
    const perHead = Math.ceil(sizes.Sq / queriesPerTile);
    const [first, last] = region.rows.map((row) => row / queriesPerTile) as [number, number];
    for (const head of keyValueHeads(region, sizes)) {
      const at = head * perHead;
      opened.runner.kernel.forward(written, workspace, at + Math.floor(first), at + Math.ceil(last));
    }
    return Float64Array.from(
      logSumExpOf({ rowMax: blocks.floats(rowMax, rows), rowSum: blocks.floats(rowSum, rows) }),
    );
  } finally {
    blocks.release();
  }
}

function visit(
  opened: Opened,
  { region, logSumExp }: { readonly region: WeightRegion; readonly logSumExp: Float64Array },
  onTile: (tile: WeightTile) => void,
): void {
  const { kernel } = opened.runner;
  const sizes = opened.call.sizes;
  const G = sizes.Hq / sizes.Hkv;
  const { queriesPerTile, keysPerTile } = tilesOf(tile, sizes);
  const size = G * queriesPerTile * keysPerTile;
  const copied = new Float32Array(queriesPerTile * keysPerTile);
  const blocks = new HeapBlocks();
  try {
    const { written, workspace } = scoresOnHeap(blocks, opened, Float32Array.from(logSumExp));
    const at = blocks.reserve(size * 4);
    for (const head of keyValueHeads(region, sizes)) {
      const [b, first] = [Math.floor(head / sizes.Hkv), (head % sizes.Hkv) * G];
      const heads = region.heads.filter((h) => h >= first && h < first + G);
      for (let row = region.rows[0]; row < region.rows[1]; row += queriesPerTile) {
        const count = Math.min(queriesPerTile, sizes.Sq - row);
        const rows = [row, Math.min(region.rows[1], row + count)] as const;
        kernel.beginRows(written, workspace, head, row);
        for (let from = region.columns[0]; from < region.columns[1]; from += keysPerTile) {
          const columns = [from, Math.min(region.columns[1], from + keysPerTile)] as const;
          if (!kernel.weights(written, workspace, row, ...columns, at)) continue;
          const width = columns[1] - from;
          for (const h of heads) {
            // The heap may move while somebody reads the tile.
            const numbers = new Float32Array(
              heapMemory()!.buffer,
              at + (h - first) * count * width * 4,
              count * width,
            );
            copied.set(numbers);
            onTile({ b, h, rows, columns, weights: copied });
          }
        }
      }
    }
  } finally {
    blocks.release();
  }
}

/** Those of all batch entries that share keys with one of the heads. */
function keyValueHeads({ heads }: WeightRegion, { B, Hq, Hkv }: CallSizes): number[] {
  const wanted = [...new Set(heads.map((h) => Math.floor(h / (Hq / Hkv))))];
  return Array.from({ length: B }, (_, b) => wanted.map((head) => b * Hkv + head)).flat();
}
