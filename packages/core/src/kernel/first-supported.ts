// Several kernels as one: for each call the first that can run it, and why the others did not.
import * as tf from '@tensorflow/tfjs-core';
import { checkKernel } from '../checks/check-options';
import { ConfigError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { AttendOptions, AttentionInputs, AttentionKernel, KernelCall } from '../contract/kernel';
import { kernelCall } from './kernel-call';
import { refusals } from './refusals';
import { remembered } from './wrap-kernel';

/** What one candidate says of a call. */
export interface Explanation {
  /** The candidate's name. */
  readonly kernel: string;
  /** Why it does not run; empty for the one that does. */
  readonly reasons: readonly string[];
  /** What it notes of the call; empty for those that do not run. */
  readonly notes: readonly string[];
}

/** A kernel that is one of several, chosen for each call. */
export interface ChosenKernel extends AttentionKernel {
  /** What each candidate says of a call, up to the one that runs. Runs nothing. */
  explain(inputs: AttentionInputs, options?: AttendOptions): readonly Explanation[];
}

/** Gives the first candidate that can run the call and fits the condition. */
type FirstAble = (fits: (kernel: AttentionKernel) => boolean) => AttentionKernel | undefined;

/**
 * A kernel that is one of the candidates for each call, which is asked `unsupported` once.
 *
 * @param choose default: the first that can run the call
 */
export function chooseKernel(
  name: string,
  candidates: readonly AttentionKernel[],
  choose: (able: FirstAble, call: KernelCall) => AttentionKernel | undefined = (able) => able(() => true),
): ChosenKernel {
  const choiceOf = remembered((call) => {
    const reasons: (readonly string[])[] = []; // of each candidate that was asked
    const reasonsOf = (n: number) => {
      reasons[n] ??= refusals(candidates[n]!, call);
      return reasons[n];
    };
    const kernel = choose(
      (fits) => candidates.find((candidate, n) => reasonsOf(n).length === 0 && fits(candidate)),
      call,
    );
    return { kernel, reasonsOf };
  });
  const explain = (call: KernelCall): Explanation[] => {
    const { kernel: chosen, reasonsOf } = choiceOf(call);
    return candidates.slice(0, chosen ? candidates.indexOf(chosen) + 1 : undefined).map((kernel, n) => {
      const refused = reasonsOf(n);
      const steppedAside = refused.length === 0 && kernel !== chosen;
      return {
        kernel: kernel.name,
        reasons: steppedAside ? ['it could run, but the next candidate is faster for this call'] : refused,
        notes: kernel === chosen ? (kernel.notes?.(call) ?? []) : [],
      };
    });
  };
  const takes = [...new Set(candidates.flatMap((kernel) => kernel.takes ?? []))];
  return {
    name,
    ...(takes.length > 0 && { takes }),
    ...(candidates.some((kernel) => kernel.takesState) && { takesState: true }),
    async prepare() {
      // One that fails to prepare says so in `unsupported`; the others may still run.
      await Promise.allSettled(candidates.map(async (kernel) => kernel.prepare?.()));
    },
    unsupported(call) {
      const { kernel, reasonsOf } = choiceOf(call);
      if (kernel) return [];
      if (candidates.length === 0) return ['there is no candidate'];
      return candidates.flatMap((each, n) => reasonsOf(n).map((reason) => `${each.name}: ${reason}`));
    },
    notes: (call) => choiceOf(call).kernel?.notes?.(call) ?? [],
    worthwhile: (call) => choiceOf(call).kernel?.worthwhile?.(call) ?? true,
    run(call) {
      const { kernel } = choiceOf(call);
      return { kernel: kernel!.name, ...kernel!.run(call) }; // `attend` has asked `unsupported`
    },
    explain(inputs, options = {}) {
      const explanations: Explanation[] = [];
      tf.tidy(() => {
        explanations.push(...explain(kernelCall('explain', inputs, options)));
      });
      return explanations;
    },
    dispose() {
      for (const kernel of candidates) kernel.dispose?.();
    },
  };
}

/**
 * A kernel that is, for each call, the first candidate that can run it and finds itself worthwhile. Where none is
 * worthwhile the first that can; where none can, the call throws with the reasons of all.
 *
 * @throws ConfigError for what is no list of kernels
 * @example const kernel = firstSupported([flash(), composed()]);
 */
export const firstSupported = /* @__PURE__ */ withKind(
  'firstSupported',
  ['candidates'],
  (candidates: readonly AttentionKernel[]): ChosenKernel => {
    const where = 'firstSupported';
    if (!Array.isArray(candidates))
      throw new ConfigError(where, 'candidates must be a list of kernels', { candidates });
    for (const candidate of candidates) checkKernel(where, candidate);
    const name = `${where}(${candidates.map((kernel) => kernel.name).join(', ')})`;
    const chosen = chooseKernel(name, candidates, (able, call) => {
      return able((kernel) => kernel.worthwhile?.(call) ?? true) ?? able(() => true);
    });
    return { ...chosen, toJSON: () => ({ kind: where, candidates: [...candidates] }) };
  },
);
