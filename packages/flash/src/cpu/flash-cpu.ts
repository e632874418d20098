// The fused kernel in plain JavaScript: portable, and the readable definition of the algorithm.
import type { AttentionKernel, KernelCall } from '@polyhead/core';
import { callTensors, hasSynchronousRead, normalizeOptions } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { weightsRefused } from '../refusals';
import { type TileOptions, tileSizes } from '../tile-options';
import { forward } from './forward';
import { hostCall } from './host-call';
import { tapedAttention } from './taped-attention';

export type FlashCpuOptions = TileOptions;

/**
 * Attention over typed arrays, tile by tile, with gradients: no array of Sq x Skv is ever made. It runs on every backend
 * whose tensors can be read at once, and steps aside on those whose own operations are faster.
 *
 * @example attend(firstSupported([flashCpu(), composed]), { query, key, value }, { mask: causal() });
 * @throws ConfigError for tiles that hold nothing
 */
export function flashCpu(options: FlashCpuOptions = {}): AttentionKernel {
  const tile = tileSizes(
    'flashCpu',
    normalizeOptions('flashCpu', 'options', options, ['rowsPerTile', 'keysPerTile']),
  );
  return {
    name: 'flashCpu',
    unsupported: reasonsAgainst,
    notes: () =>
      tf.getBackend() === 'cpu' ? [] : [`tensors of "${tf.getBackend()}" are copied at each call`],
    worthwhile: () => tf.getBackend() === 'cpu', // elsewhere compiled operations are faster
    run(call) {
      const tensors = callTensors(call);
      const asksLogSumExp = call.returns?.includes('logSumExp') ?? false;
      if (call.isTaped) return tapedAttention(call, tensors, { tile, asksLogSumExp });
      const found = hostCall(call, tensors, tile);
      const { B, Hq, Sq, Dv } = found.sizes;
      const { output, logSumExp } = forward(found);
      return {
        output: tf.tensor(output, [B, Hq, Sq, Dv]),
        ...(asksLogSumExp && { logSumExp: tf.tensor(Float32Array.from(logSumExp), [B, Hq, Sq]) }),
      };
    },
  };
}

export const unreadable = () =>
  `tensors of backend "${tf.getBackend()}" cannot be read without waiting for a device`;

function reasonsAgainst({ returns = [] }: KernelCall): string[] {
  const rules: readonly (readonly [refuses: boolean, reason: string])[] = [
    [!hasSynchronousRead(), `${unreadable()}: take the kernel composed, or backend "wasm"`],
    [returns.includes('weights'), weightsRefused],
  ];
  return rules.filter(([refuses]) => refuses).map(([, reason]) => reason);
}
