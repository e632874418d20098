// The fused kernel in WebAssembly, on the tensors of tfjs's wasm backend as they lie.
import { type AttentionKernel, ConfigError, type KernelCall } from '@polyhead/core';
import {
  callTensors,
  floatsOnHeap,
  heapMemory,
  normalizeOptions,
  type RelaxedSimd,
  withGradient,
} from '@polyhead/core/kernel';
import { withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { type TileOptions, tileSizes, weightsRefused } from '../kernel-options';
import { kernelIn, modules, reasonsWithoutHeap } from './kernel-module';
import { runBackward } from './run-backward';
import { logSumExpOf, runForward } from './run-forward';
import type { PassRunner } from './run-pass';
import { ThreadPool } from './threads/thread-pool';
import { forwardWork, noteOfThreads } from './threads/worth';

const mostThreads = 256; // more than machines have; each takes some megabytes

/** How it computes; results are the same but for rounding. */
export interface FlashWasmOptions extends TileOptions {
  /**
   * Relaxed SIMD, about a quarter faster. 'auto': where the engine knows it. false: never. true: switched on where the engine
   * has it behind a flag, as Node 20 does; the flag holds for the whole process. Default: 'auto'.
   */
  readonly relaxedSimd?: RelaxedSimd | undefined;
  /**
   * How many threads compute, the caller's among them, from when `prepare` has been awaited until `dispose`; a small call has
   * one. 1 to 256. Where tfjs's memory is not shared, as in Node, tensors are copied at each call, into workspace that is kept. Default: 1.
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
  const { relaxedSimd = 'auto', threads = 1, ...tiles } = known;
  const simdKind = modules.choose('flashWasm', relaxedSimd);
  if (!Number.isInteger(threads) || threads < 1 || threads > mostThreads) {
    throw new ConfigError('flashWasm', `threads must be a whole number from 1 to ${mostThreads}`, {
      threads,
    });
  }
  const tile = tileSizes('flashWasm', tiles);
  const pool = threads > 1 ? new ThreadPool(threads, simdKind) : undefined;
  return {
    name: 'flashWasm',
    async prepare() {
      await Promise.all([modules.compile(simdKind(), false), pool?.start()]);
    },
    unsupported: reasonsAgainst,
    notes(call) {
      const threaded = pool && noteOfThreads(pool, forwardWork(call, callTensors(call), tile));
      return [`${simdKind()} SIMD, ${threaded ?? 'one thread'}`];
    },
    run: (call) => runOnHeap({ kernel: kernelIn(heapMemory()!, simdKind()), tile, pool }, call),
    dispose: () => pool?.end('the kernel is disposed'),
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
