// The kernel on a gradient's tape: one tensor comes out, and the way back starts from what the way there has kept.
import type { KernelCall, KernelResult } from '@polyhead/core';
import { type CallTensors, differentiable } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import type { TileSizes } from '../tile-options';
import { backward, type Gradients } from './backward';
import { forward, type Outcome } from './forward';
import { hostCall } from './host-call';

interface Asked {
  readonly tile: TileSizes;
  readonly asksLogSumExp: boolean;
}

/** @param given keys and values among them */
export function tapedAttention(
  call: KernelCall,
  given: CallTensors,
  { tile, asksLogSumExp }: Asked,
): KernelResult {
  const names = Object.keys(given) as (keyof CallTensors)[];
  const named = (tensors: readonly tf.Tensor[]) =>
    Object.fromEntries(names.map((name, n) => [name, tensors[n]])) as unknown as CallTensors;
  const [B, Hq, Sq] = given.query.shape;
  const Dv = given.value!.shape[3];
  let outcome: Outcome;
  const packed = differentiable(
    { inputs: names.map((name) => given[name]!), constants: call.plan.dense },
    (tensors) => {
      outcome = forward(hostCall(call, named(tensors), tile));
      const numbers = asksLogSumExp ? packedNumbers(outcome, Dv) : outcome.output;
      return tf.tensor(numbers, [B, Hq, Sq, asksLogSumExp ? Dv + 1 : Dv]) as tf.Tensor4D;
    },
    (gradient, tensors, dense) => {
      const again = { ...call, plan: { ...call.plan, dense: dense as tf.Tensor4D[] } };
      const found = hostCall(again, named(tensors), tile);
      const gradients = Object.fromEntries(
        names.map((name, n) => [name, new Float64Array(tensors[n]!.size)]),
      ) as unknown as Gradients;
      const results = { numbers: gradient.dataSync(), width: gradient.shape[3] };
      backward(found, { outcome, results, gradients });
      return names.map((name, n) => tf.tensor(Float32Array.from(gradients[name]!), tensors[n]!.shape));
    },
  );
  if (!asksLogSumExp) return { output: packed };
  const [output, logSumExp] = tf.split(packed, [Dv, 1], 3) as [tf.Tensor4D, tf.Tensor4D];
  return { output, logSumExp: tf.squeeze(logSumExp, [3]) as tf.Tensor3D };
}

/** Each row's log-sum-exp behind its output. */
function packedNumbers({ output, logSumExp }: Outcome, Dv: number): Float32Array {
  const packed = new Float32Array(output.length + logSumExp.length);
  logSumExp.forEach((value, n) => {
    packed.set(output.subarray(n * Dv, (n + 1) * Dv), n * (Dv + 1));
    packed[n * (Dv + 1) + Dv] = value;
  });
  return packed;
}
