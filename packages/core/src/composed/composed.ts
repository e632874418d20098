// The kernel made of tfjs operations: runs on every backend, with gradients. The formula is in `formula.ts`.
import * as tf from '@tensorflow/tfjs-core';
import { backendTraits } from '../backend/traits';
import { withKind } from '../contract/json';
import type { AttentionKernel, KernelCall, KernelResult } from '../contract/kernel';
import { withGradient } from '../kernel/with-gradient';
import { backward } from './backward';
import { type ForwardResult, forward } from './forward';
import { prepare } from './prepare';

const kernel: AttentionKernel = {
  name: 'composed',
  toJSON: () => ({ kind: 'composed' }),
  unsupported() {
    if (!backendTraits().halfFloats()) return [];
    return [
      'the backend has floats of 16 bits on this device: too few for scores, and a hidden one is NaN; take "wasm" or "cpu"',
    ];
  },
  notes: ({ inputs }) =>
    inputs.stored ? ['stored keys and values are copied into tensors at each call'] : [],
  run: (call) =>
    withGradient(call, {
      forward(again, tensors) {
        const options = { weights: wants(call, 'weights'), logSumExp: wants(call, 'logSumExp') };
        return {
          result: resultOf(forward(prepare(again, tensors), options)),
          saved: undefined,
        };
      },
      backward(again, tensors, { gradient: { logSumExp, ...others } }) {
        const gradients = {
          ...others,
          ...(logSumExp && { logSumExp: tf.expandDims<tf.Tensor4D>(logSumExp, 3) }),
        };
        return backward(prepare(again, tensors, gradients), gradients);
      },
    }),
};

function wants({ returns = [] }: KernelCall, name: 'weights' | 'logSumExp'): boolean {
  return returns.includes(name);
}

function resultOf({ output, weights, logSumExp }: ForwardResult): KernelResult {
  return {
    output,
    ...(weights && { weights }),
    ...(logSumExp && { logSumExp: tf.squeeze(logSumExp, [3]) as tf.Tensor3D }),
  };
}

/**
 * Scaled dot-product attention by tfjs operations, on every backend, with gradients (Vaswani et al. 2017, 1706.03762). The
 * default kernel of every layer.
 */
export const composed = /* @__PURE__ */ withKind('composed', [], (): AttentionKernel => kernel);
