// A kernel's two passes as one operation with a gradient, where the call stands in one.
import * as tf from '@tensorflow/tfjs-core';
import type { KernelCall, KernelResult } from '../contract/kernel';
import { type CallTensors, callTensors } from './call-tensors';
import { differentiable } from './gradient';

/** The gradients of a kernel's results: of the output always, of the others where the call asks for them. */
export interface ResultGradients {
  /** [B, Hq, Sq, Dv] */
  readonly output: tf.Tensor4D;
  /** [B, Hq, Sq, Skv] */
  readonly weights?: tf.Tensor4D;
  /** [B, Hq, Sq] */
  readonly logSumExp?: tf.Tensor3D;
}

/** The passes of a kernel. Both read tensors from `tensors`, not from the call, which may hold others by then. */
export interface Passes<Saved> {
  /** `saved` is what the backward pass needs beside the tensors; no tensor in it, since it outlives the tidy. */
  forward(call: KernelCall, tensors: CallTensors): { readonly result: KernelResult; readonly saved: Saved };
  /** A gradient for each of the tensors, of the same size; 0 for those left out. */
  backward(
    call: KernelCall,
    tensors: CallTensors,
    passed: { readonly gradient: ResultGradients; readonly saved: Saved },
  ): { readonly [name in keyof CallTensors]?: tf.Tensor };
}

/** What the forward pass gives; inside a gradient, with the backward pass as its derivative. */
export function withGradient<Saved>(call: KernelCall, { forward, backward }: Passes<Saved>): KernelResult {
  const tensors = callTensors(call);
  if (!call.isTaped) return forward(call, tensors).result;
  const names = Object.keys(tensors) as (keyof CallTensors)[];
  const named = (list: readonly tf.Tensor[]) =>
    Object.fromEntries(names.map((name, n) => [name, list[n]])) as unknown as CallTensors;
  let saved: Saved;
  const packed = differentiable(
    { inputs: names.map((name) => tensors[name] as tf.Tensor), constants: call.plan.dense },
    (inputs) => {
      const passed = forward(call, named(inputs));
      saved = passed.saved;
      return pack(call, passed.result);
    },
    (gradient, inputs, dense) => {
      if (tensors.query.size === 0) return inputs.map((input) => tf.zeros(input.shape));
      const again = { ...call, plan: { ...call.plan, dense: dense as tf.Tensor4D[] } };
      const gradients = backward(again, named(inputs), { gradient: unpack(call, gradient), saved });
      return names.map((name, n) => {
        const { shape } = inputs[n]!;
        return gradients[name] ? tf.reshape(gradients[name], shape) : tf.zeros(shape);
      });
    },
  );
  return unpack(call, packed);
}

/** customGrad gives one tensor: what is asked for beside the output lies behind it, in the last axis. */
function pack({ returns = [] }: KernelCall, { output, weights, logSumExp }: KernelResult): tf.Tensor4D {
  const parts = [output];
  if (returns.includes('weights')) parts.push(weights!);
  if (returns.includes('logSumExp')) parts.push(tf.expandDims(logSumExp!, 3));
  if (parts.length === 1) return output;
  if (output.size > 0) return tf.concat(parts, 3);
  // On cpu what is joined of nothing cannot be cut again.
  const width = parts.reduce((sum, part) => sum + part.shape[3], 0);
  return tf.zeros([output.shape[0], output.shape[1], output.shape[2], width]);
}

function unpack({ returns = [], sizes }: KernelCall, packed: tf.Tensor4D): ResultGradients {
  const widths = [
    sizes.Dv,
    returns.includes('weights') ? sizes.Skv : 0,
    returns.includes('logSumExp') ? 1 : 0,
  ];
  if (packed.shape[3] === sizes.Dv && !returns.includes('weights')) return { output: packed };
  let end = 0;
  const [output, weights, logSumExp] = widths.map((width) => {
    end += width;
    return width > 0 ? tf.slice(packed, [0, 0, 0, end - width], [-1, -1, -1, width]) : undefined;
  });
  return {
    output: output!,
    ...(returns.includes('weights') && { weights: weights ?? emptyWeights(sizes) }),
    ...(logSumExp && { logSumExp: tf.squeeze<tf.Tensor3D>(logSumExp, [3]) }),
  };
}

/** Of a call without keys. */
function emptyWeights({ B, Hq, Sq }: KernelCall['sizes']): tf.Tensor4D {
  return tf.zeros([B, Hq, Sq, 0]);
}
