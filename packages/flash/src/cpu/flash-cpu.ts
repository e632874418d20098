// The fused kernel in plain JavaScript: portable, and the readable definition of the algorithm.
import type { AttentionKernel, KernelCall, KernelResult } from '@polyhead/core';
import {
  backendTraits,
  type CallTensors,
  normalizeOptions,
  type ResultGradients,
  withGradient,
} from '@polyhead/core/kernel';
import { withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { type TileOptions, type TileSizes, tileSizes, weightsRefused } from '../kernel-options';
import { backward, type Gradients } from './backward';
import { callOnHost } from './call';
import { type ForwardResult, forward } from './forward';

/** How much is computed at once. */
export type FlashCpuOptions = TileOptions;

/**
 * Attention over typed arrays, tile by tile, with gradients: no array of Sq x Skv is ever made (Dao et al. 2022,
 * 2205.14135). It runs on every backend whose tensors can be read at once, and steps aside on those whose own operations
 * are faster.
 *
 * @example attend(firstSupported([flashCpu(), composed()]), { query, key, value }, { mask: causal() });
 * @throws ConfigError for tiles that hold nothing, or too much
 */
export const flashCpu = /* @__PURE__ */ withKind(
  'flashCpu',
  ['options'],
  (options: FlashCpuOptions = {}): AttentionKernel => {
    const names = ['rowsPerTile', 'keysPerTile'] as const;
    const known = normalizeOptions('flashCpu', 'options', options, names);
    const tile = tileSizes('flashCpu', known);
    return {
      name: 'flashCpu',
      unsupported: reasonsAgainst,
      notes: () => (onHost() ? [] : [`tensors of "${tf.getBackend()}" are copied at each call`]),
      worthwhile: onHost, // elsewhere compiled operations are faster
      run: (call) =>
        withGradient(call, {
          forward(again, tensors) {
            const saved = forward(callOnHost(again, tensors, tile));
            return { result: resultOf(again, saved), saved };
          },
          backward: (again, tensors, { gradient, saved }) =>
            gradientsOf(again, tensors, { tile, gradient, forwardResult: saved }),
        }),
      toJSON: () => ({ kind: 'flashCpu', options: known }),
    };
  },
);

function resultOf({ sizes, returns }: KernelCall, { output, logSumExp }: ForwardResult): KernelResult {
  const { B, Hq, Sq, Dv } = sizes;
  return {
    output: tf.tensor(output, [B, Hq, Sq, Dv]),
    ...(returns?.includes('logSumExp') && {
      logSumExp: tf.tensor(Float32Array.from(logSumExp), [B, Hq, Sq]),
    }),
  };
}

interface BackwardRequest {
  readonly tile: TileSizes;
  readonly gradient: ResultGradients;
  readonly forwardResult: ForwardResult;
}

function gradientsOf(
  call: KernelCall,
  tensors: CallTensors,
  { tile, gradient: { output, logSumExp }, forwardResult }: BackwardRequest,
) {
  const entries = Object.entries(tensors) as [keyof CallTensors, tf.Tensor][];
  const gradients = Object.fromEntries(
    entries.map(([name, { size }]) => [name, new Float64Array(size)]),
  ) as unknown as Gradients;
  backward(callOnHost(call, tensors, tile), {
    forwardResult,
    dOutput: output.dataSync(),
    gradients,
    ...(logSumExp && { dLogSumExp: logSumExp.dataSync() }),
  });
  return Object.fromEntries(
    entries.map(([name, { shape }]) => [name, tf.tensor(Float32Array.from(gradients[name]!), shape)]),
  );
}

const onHost = () => backendTraits().hostArrays;

export const unreadable = () =>
  `tensors of backend "${tf.getBackend()}" cannot be read without waiting for a device`;

function reasonsAgainst({ returns = [] }: KernelCall): string[] {
  return [
    ...(backendTraits().synchronousRead
      ? []
      : [`${unreadable()}: take the kernel composed, or backend "wasm"`]),
    ...(returns.includes('weights') ? [weightsRefused] : []),
  ];
}
