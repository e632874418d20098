// The kernel made of tfjs operations: runs on every backend, with gradients. The formula is in `formula.ts`.
import * as tf from '@tensorflow/tfjs-core';
import { backendTraits } from '../backend/traits';
import type { AttentionKernel, KernelCall, KernelResult } from '../contract/kernel';
import { differentiable, secondOrder } from '../kernel/gradient';
import { backward } from './backward';
import { type ForwardRequest, type ForwardResult, forward } from './forward';
import { type Differentiable, differentiableInputs, prepare } from './prepare';

/**
 * Scaled dot-product attention by tfjs operations, on every backend, with gradients (Vaswani et al. 2017, 1706.03762). The
 * default kernel of every layer.
 */
export function composed(): AttentionKernel {
  return kernel;
}

const kernel: AttentionKernel = {
  name: 'composed',
  unsupported({ inputs, gradientDepth }) {
    const reasons: string[] = [];
    if (gradientDepth > 1) reasons.push(`a gradient of a gradient is not supported: ${secondOrder}`);
    if (inputs.stored && gradientDepth > 0) {
      reasons.push(
        'stored keys and values have no gradient: rows written in place would make it silently zero',
      );
    }
    if (backendTraits().halfFloats()) {
      reasons.push(
        'the backend has floats of 16 bits on this device: too few for scores, and a hidden one is NaN; take "wasm" or "cpu"',
      );
    }
    return reasons;
  },
  notes: ({ inputs }) =>
    inputs.stored ? ['stored keys and values are copied into tensors at each call'] : [],
  run(call) {
    const asked = { weights: asks(call, 'weights'), logSumExp: asks(call, 'logSumExp') };
    const inputs = differentiableInputs(call);
    if (call.gradientDepth > 0) return resultOf(taped(call, inputs, asked));
    return resultOf(forward(prepare(call, inputs), asked));
  },
};

function asks({ returns = [] }: KernelCall, name: 'weights' | 'logSumExp'): boolean {
  return returns.includes(name);
}

function resultOf({ output, weights, logSumExp }: ForwardResult): KernelResult {
  return {
    output,
    ...(weights && { weights }),
    ...(logSumExp && { logSumExp: tf.squeeze(logSumExp, [3]) as tf.Tensor3D }),
  };
}

/** customGrad gives one tensor: what is asked for beside the output lies behind it, in the last axis. */
function taped(call: KernelCall, given: Differentiable, asked: ForwardRequest): ForwardResult {
  const names = Object.keys(given) as (keyof Differentiable)[];
  const named = (tensors: readonly tf.Tensor[]) =>
    Object.fromEntries(names.map((name, i) => [name, tensors[i]])) as unknown as Differentiable;
  const widths = [given.value.shape[3], asked.weights ? given.key.shape[2] : 0, asked.logSumExp ? 1 : 0];
  const packed = differentiable(
    { inputs: names.map((name) => given[name]!), constants: call.plan.dense },
    (tensors) => {
      const { output, weights, logSumExp } = forward(prepare(call, named(tensors)), asked);
      const parts = [output, weights, logSumExp].filter((part): part is tf.Tensor4D => part !== undefined);
      return parts.length === 1 ? output : tf.concat(parts, 3);
    },
    (gradient, tensors, dense) => {
      if (given.query.size === 0) return tensors.map((tensor) => tf.zerosLike(tensor));
      const again = { ...call, plan: { ...call.plan, dense: dense as tf.Tensor4D[] } };
      const gradients = backward(prepare(again, named(tensors)), unpack(gradient, widths));
      return names.map((name) => tf.reshape(gradients[name]!, given[name]!.shape));
    },
  );
  return unpack(packed, widths);
}

function unpack(packed: tf.Tensor4D, widths: readonly number[]): ForwardResult {
  if (widths[0] === packed.shape[3]) return { output: packed };
  let at = 0;
  const [output, weights, logSumExp] = widths.map((width) => {
    at += width;
    return width > 0 ? tf.slice(packed, [0, 0, 0, at - width], [-1, -1, -1, width]) : undefined;
  });
  return { output: output!, ...(weights && { weights }), ...(logSumExp && { logSumExp }) };
}
