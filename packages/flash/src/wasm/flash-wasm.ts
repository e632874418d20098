// The fused kernel in WebAssembly, on the tensors of tfjs's wasm backend as they lie.
import type { AttentionKernel, KernelCall } from '@polyhead/core';
import {
  callTensors,
  floatsOnHeap,
  heapMemory,
  normalizeOptions,
  type RelaxedSimd,
  ThreadPool,
  withGradient,
} from '@polyhead/core/kernel';
import { withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { type TileOptions, tileSizes, weightsRefused } from '../kernel-options';
import { kernelIn, modules, reasonsWithoutHeap } from './kernel-module';
import { forwardCost } from './pass-cost';
import { runBackward } from './run-backward';
import { logSumExpOf, runForward } from './run-forward';
import type { PassRunner } from './run-pass';

/** How it computes; results are the same but for rounding. */
export interface FlashWasmOptions extends TileOptions {
  /**
   * Relaxed SIMD, about a quarter faster. 'auto': where the engine knows it. false: never. true: switched on where the engine
   * has it behind a flag, as Node 20 does; the flag holds for the whole process. Default: 'auto'.
   */
  readonly relaxedSimd?: RelaxedSimd | undefined;
  /**
   * How many threads compute, the caller's among them, from when `prepare` has been awaited until `dispose`; a small call has
   * one. 1 to 256. Where tfjs's memory is not shared, as in Node, tensors are copied at each call, into workspace that is kept.
   * Default: as many as tfjs itself has on wasm, which is one but in an isolated page.
   */
  readonly threads?: number | undefined;
}

/**
 * Attention on the heap of tfjs's wasm backend, tile by tile, with gradients: no array of Sq x Skv is ever made, and tensors
 * and stored rows are read where they lie.
 *
 * @example attend(firstSupported([flashWasm(), composed]), { query, key, value }, { mask: causal() });
 * @throws ConfigError for tiles that hold nothing, and for less than one thread
 */
export const flashWasm = /* @__PURE__ */ withKind('flashWasm', ['options'], makeFlashWasm);

function makeFlashWasm(options: FlashWasmOptions = {}): AttentionKernel {
  const names = ['relaxedSimd', 'threads', 'rowsPerTile', 'keysPerTile'] as const;
  const known = normalizeOptions('flashWasm', 'options', options, names);
  const { relaxedSimd = 'auto', threads, ...tiles } = known;
  const simd = modules.choose('flashWasm', relaxedSimd);
  const tile = tileSizes('flashWasm', tiles);
  const pool = new ThreadPool('flashWasm', { modules, simd, threads });
  return {
    name: 'flashWasm',
    async prepare() {
      await Promise.all([modules.compile(simd(), false), pool.start()]);
    },
    unsupported: reasonsAgainst,
    notes: (call) => [`${simd()} SIMD, ${pool.note(forwardCost(call, callTensors(call), tile))}`],
    run: (call) => runOnHeap({ kernel: kernelIn(heapMemory()!, simd()), tile, pool }, call),
    dispose: () => pool.end('the kernel is disposed'),
    toJSON: () => ({ kind: 'flashWasm', options: known }),
  };
}

function runOnHeap(runner: PassRunner, call: KernelCall) {
  return withGradient(call, {
    forward(again, tensors) {
      const { output, sums } = runForward(runner, again, tensors);
      const { B, Hq, Sq } = call.sizes;
      const result = call.returns?.includes('logSumExp')
        ? { output, logSumExp: tf.tensor3d(logSumExpOf(sums), [B, Hq, Sq]) }
        : { output };
      const { rowMax, rowSum } = sums;
      const saved = call.isTaped ? floatsOnHeap(output).slice() : noFloats;
      return { result, saved: { rowMax, rowSum, output: saved } };
    },
    backward: (again, tensors, results) => runBackward(runner, again, tensors, results),
  });
}

const noFloats = new Float32Array(0);

function reasonsAgainst({ returns }: KernelCall): string[] {
  const reasons = reasonsWithoutHeap();
  return returns?.includes('weights') ? [...reasons, weightsRefused] : reasons;
}
