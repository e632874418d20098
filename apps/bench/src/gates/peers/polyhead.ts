// Our own kernels as contestants.
import { type AttendOptions, type AttentionKernel, attend, causal } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import type { Enter } from '../arena';
import type { Check } from '../check';
import type { Contestant } from '../contestant';
import type { HeadTensors } from '../head-tensors';
import { kernelUnderTest, type OurKernel, ours } from '../kernel-under-test';
import { tensorContestant } from '../tensor-contestant';
import { gradientsOf } from '../tuned-tfjs';

export const polyhead = 'Polyhead';

/** The work of the arena by kernels of ours. */
export function polyheadKernels(...names: readonly OurKernel[]): Enter {
  return async ({ work, tensors, check, threads }) => {
    const entries = names.map(async (name) => {
      const kernel = await kernelUnderTest(name, threads);
      const options = work.causal ? { mask: causal() } : {};
      return attendContestant({
        op: ours[name],
        kernel,
        tensors,
        options,
        check,
        gradients: work.gradients ?? false,
      });
    });
    return Promise.all(entries);
  };
}

export interface AttendWork {
  readonly op: string;
  readonly kernel: AttentionKernel;
  readonly tensors: Omit<HeadTensors, 'outputGradient'> & Partial<HeadTensors>;
  readonly options: AttendOptions;
  readonly check?: Check;
  readonly gradients?: boolean;
}

/** One call of `attend`; the kernel goes with the contestant. */
export function attendContestant({
  op,
  kernel,
  tensors,
  options,
  check,
  gradients = false,
}: AttendWork): Contestant {
  let ran: string | undefined;
  const output = (query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D) => {
    const result = attend(kernel, { query, key, value }, options);
    ran = result.kernel;
    return result.output;
  };
  const { query, key, value, outputGradient } = tensors;
  const run = gradients
    ? () => gradientsOf(output, { query, key, value, outputGradient: outputGradient! })
    : () => output(query, key, value);
  const contestant = tensorContestant({
    peer: polyhead,
    op,
    run,
    ...(check && { check }),
    dispose: () => kernel.dispose?.(),
  });
  return { ...contestant, ranBy: () => ran };
}
