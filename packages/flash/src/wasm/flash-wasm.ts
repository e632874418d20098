// The fused kernel in WebAssembly, on the tensors of tfjs's wasm backend as they lie.
import { type AttentionKernel, ConfigError, type KernelCall } from '@polyhead/core';
import { callTensors, heapMemory, normalizeOptions } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { weightsRefused } from '../refusals';
import { type TileOptions, tileSizes } from '../tile-options';
import { callSizes } from './call-on-heap';
import { compileModule, enableRelaxedSimd, kernelIn, knowsRelaxedSimd, type SimdKind } from './kernel-module';
import { reasonsWithoutHeap } from './reasons';
import { logSumExpOf, runForward } from './run-forward';
import { tapedAttention } from './taped-attention';
import { ThreadPool } from './threads/thread-pool';
import { forwardWork, noteOfThreads } from './threads/worth';

const mostThreads = 256; // more than machines have; each takes some megabytes

export interface FlashWasmOptions extends TileOptions {
  /**
   * Relaxed SIMD, about a quarter faster. 'auto': where the engine knows it. false: never. true: switched on where the engine
   * has it behind a flag, as Node 20 does; the flag holds for the whole process. Default: 'auto'.
   */
  readonly relaxedSimd?: 'auto' | boolean;
  /**
   * How many threads compute, the caller's among them, from when `prepare` has been awaited until `dispose`; a small call has
   * one. 1 to 256. Where tfjs's memory is not shared, as in Node, tensors are copied at each call, into room that is kept. Default: 1.
   */
  readonly threads?: number;
}

/**
 * Attention on the heap of tfjs's wasm backend, tile by tile, with gradients: no array of Sq x Skv is ever made, and tensors
 * and stored rows are read where they lie.
 *
 * @example attend(firstSupported([flashWasm(), composed]), { query, key, value }, { mask: causal() });
 * @throws ConfigError for tiles that hold nothing, and for less than one thread
 */
export function flashWasm(options: FlashWasmOptions = {}): AttentionKernel {
  const names = ['relaxedSimd', 'threads', 'rowsPerTile', 'keysPerTile'] as const;
  const {
    relaxedSimd = 'auto',
    threads = 1,
    ...tiles
  } = normalizeOptions('flashWasm', 'options', options, names);
  if (relaxedSimd !== 'auto' && typeof relaxedSimd !== 'boolean') {
    throw new ConfigError('flashWasm', "relaxedSimd must be 'auto', true or false", { relaxedSimd });
  }
  if (!Number.isInteger(threads) || threads < 1 || threads > mostThreads) {
    throw new ConfigError('flashWasm', `threads must be a whole number from 1 to ${mostThreads}`, {
      threads,
    });
  }
  const tile = tileSizes('flashWasm', tiles);
  let known: SimdKind | undefined;
  const simdKind = () => {
    known ??= chooseSimd(relaxedSimd);
    return known;
  };
  const pool = threads > 1 ? new ThreadPool(threads, simdKind) : undefined;
  return {
    name: 'flashWasm',
    async prepare() {
      await Promise.all([compileModule(simdKind(), false), pool?.start()]);
    },
    unsupported: reasonsAgainst,
    notes(call) {
      const threaded = pool && noteOfThreads(pool, forwardWork(call, callTensors(call), tile));
      return [`${simdKind()} SIMD, ${threaded ?? 'one thread'}`];
    },
    run(call) {
      const tensors = callTensors(call);
      const asksLogSumExp = call.returns?.includes('logSumExp') ?? false;
      const { B, Hq, Sq } = callSizes(call, tensors);
      const runner = { kernel: kernelIn(heapMemory()!, simdKind()), tile, pool };
      if (call.isTaped) return tapedAttention(runner, call, tensors, asksLogSumExp);
      const { output, sums } = runForward(runner, call, tensors);
      return {
        output,
        ...(asksLogSumExp && { logSumExp: tf.tensor3d(logSumExpOf(sums), [B, Hq, Sq]) }),
      };
    },
    dispose: () => pool?.end('the kernel is disposed'),
  };
}

function chooseSimd(relaxedSimd: 'auto' | boolean): SimdKind {
  if (relaxedSimd === true) enableRelaxedSimd();
  return relaxedSimd !== false && knowsRelaxedSimd() ? 'relaxed' : 'plain';
}

function reasonsAgainst({ returns = [] }: KernelCall): string[] {
  const rules: readonly (readonly [refuses: boolean, reason: string])[] = [
    [returns.includes('weights'), weightsRefused],
  ];
  return [...reasonsWithoutHeap(), ...rules.filter(([refuses]) => refuses).map(([, reason]) => reason)];
}
