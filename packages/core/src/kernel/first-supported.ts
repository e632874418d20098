// Several kernels as one: the first that can and wants to run, and why the others did not.
import * as tf from '@tensorflow/tfjs-core';
import type { AttendOptions, AttentionInputs, AttentionKernel, KernelCall } from '../contract/kernel';
import { kernelCall } from './kernel-call';

/** What one candidate says of a call. */
export interface Explanation {
  readonly kernel: string;
  /** Why it does not run; empty for the one that does. */
  readonly reasons: readonly string[];
  readonly notes: readonly string[];
}

export interface ChosenKernel extends AttentionKernel {
  /** What each candidate says of a call, up to the one that runs. Runs nothing. */
  explain(inputs: AttentionInputs, options?: AttendOptions): readonly Explanation[];
}

/**
 * A kernel that is, for each call, the first candidate that can run it and finds itself worthwhile. Where none is
 * worthwhile the first that can; where none can, the call throws with the reasons of all.
 */
export function firstSupported(candidates: readonly AttentionKernel[]): ChosenKernel {
  return {
    name: `firstSupported(${candidates.map((kernel) => kernel.name).join(', ')})`,
    async prepare() {
      // One that fails to prepare says so in `unsupported`; the others may still run.
      await Promise.allSettled(candidates.map((kernel) => kernel.prepare?.()));
    },
    unsupported: (call) => (choose(candidates, call) ? [] : allReasons(candidates, call)),
    notes: (call) => choose(candidates, call)?.notes?.(call) ?? [],
    run(call) {
      const kernel = choose(candidates, call)!; // `attend` has asked `unsupported`
      return { kernel: kernel.name, ...kernel.run(call) };
    },
    explain(inputs, options = {}) {
      const explanations: Explanation[] = [];
      tf.tidy(() => {
        explanations.push(...explain(candidates, kernelCall('explain', inputs, options)));
      });
      return explanations;
    },
    dispose() {
      for (const kernel of candidates) kernel.dispose?.();
    },
  };
}

function choose(candidates: readonly AttentionKernel[], call: KernelCall): AttentionKernel | undefined {
  const able = candidates.filter((kernel) => kernel.unsupported(call).length === 0);
  return able.find((kernel) => kernel.worthwhile?.(call) ?? true) ?? able[0];
}

function allReasons(candidates: readonly AttentionKernel[], call: KernelCall): string[] {
  if (candidates.length === 0) return ['there is no candidate'];
  return candidates.flatMap((kernel) =>
    kernel.unsupported(call).map((reason) => `${kernel.name}: ${reason}`),
  );
}

function explain(candidates: readonly AttentionKernel[], call: KernelCall): Explanation[] {
  const chosen = choose(candidates, call);
  return candidates.slice(0, chosen ? candidates.indexOf(chosen) + 1 : undefined).map((kernel) => {
    const refusals = kernel.unsupported(call);
    const steppedAside = refusals.length === 0 && kernel !== chosen;
    return {
      kernel: kernel.name,
      reasons: steppedAside ? ['it could run, but the next candidate is faster for this call'] : refusals,
      notes: kernel === chosen ? (kernel.notes?.(call) ?? []) : [],
    };
  });
}
