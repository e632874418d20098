// The kernel on a gradient's tape: one tensor comes out, and the way back starts from what the way there has kept.
import type { KernelCall, KernelResult } from '@polyhead/core';
import { type CallTensors, differentiable, emptyOnHeap, floatsOnHeap } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { type Found, runBackward } from './run-backward';
import { logSumExpOf, type Outcome, runForward } from './run-forward';
import type { PassRunner } from './run-pass';

/** @param given keys and values among them */
export function tapedAttention(
  runner: PassRunner,
  call: KernelCall,
  given: CallTensors,
  asksLogSumExp: boolean,
): KernelResult {
  const names = Object.keys(given) as (keyof CallTensors)[];
  const named = (tensors: readonly tf.Tensor[]) =>
    Object.fromEntries(names.map((name, n) => [name, tensors[n]])) as unknown as CallTensors;
  let found: Found;
  const result = differentiable(
    { inputs: names.map((name) => given[name]!), constants: call.plan.dense },
    (tensors) => {
      const outcome = runForward(runner, call, named(tensors));
      found = { ...outcome.sums, output: floatsOnHeap(outcome.output).slice() };
      return asksLogSumExp ? packed(outcome) : outcome.output;
    },
    (gradient, tensors, dense) => {
      const again = { ...call, plan: { ...call.plan, dense: dense as tf.Tensor4D[] } };
      const gradients = runBackward(runner, again, named(tensors), { found, given: gradient });
      return names.map((name) => gradients[name]!);
    },
  );
  if (!asksLogSumExp) return { output: result };
  const [output, logSumExp] = tf.split(result, [result.shape[3] - 1, 1], 3) as [tf.Tensor4D, tf.Tensor4D];
  return { output, logSumExp: tf.squeeze(logSumExp, [3]) as tf.Tensor3D };
}

/** Each row's log-sum-exp behind its output: [B, Hq, Sq, Dv + 1]. */
function packed({ output, sums }: Outcome): tf.Tensor4D {
  const [B, Hq, Sq, Dv] = output.shape;
  const result = emptyOnHeap<tf.Rank.R4>([B, Hq, Sq, Dv + 1]);
  const [from, to] = [floatsOnHeap(output), floatsOnHeap(result)];
  logSumExpOf(sums).forEach((value, n) => {
    to.set(from.subarray(n * Dv, (n + 1) * Dv), n * (Dv + 1));
    to[n * (Dv + 1) + Dv] = value;
  });
  output.dispose();
  return result;
}
