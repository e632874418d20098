// The suite every kernel passes, on every backend.
import type { AttentionKernel } from '@polyhead/core';
import { beforeAll } from 'vitest';
import type { Refusable } from './cases';
import { type Check, describeChecks, type KnownGaps } from './check';
import { independenceChecks } from './kernel-checks/independence';
import { memoryChecks } from './kernel-checks/memory';
import { refusalChecks } from './kernel-checks/refusals';
import { relativeChecks } from './kernel-checks/relative';
import { unseenChecks } from './kernel-checks/unseen';
import { valueChecks } from './kernel-checks/values';

export interface KernelSuite {
  /** Options the kernel refuses by design, with the reason: the suite leaves them out and asks that it does refuse. */
  readonly refuses?: { readonly [option in Refusable]?: string };
  /** Checks that fail, with the reason. */
  readonly knownGaps?: KnownGaps;
}

/**
 * Runs the suite on a kernel, which is prepared first.
 *
 * @example describeKernel('composed', composed());
 */
export function describeKernel(
  name: string,
  kernel: AttentionKernel | (() => AttentionKernel),
  { refuses = {}, knownGaps = {} }: KernelSuite = {},
): void {
  let made = typeof kernel === 'function' ? undefined : kernel;
  const kernelOf = () => {
    made ??= (kernel as () => AttentionKernel)();
    return made;
  };
  beforeAll(() => kernelOf().prepare?.());
  describeChecks(name, kernelChecks(kernelOf, Object.keys(refuses) as Refusable[]), knownGaps);
}

/** All checks of a kernel. */
export function kernelChecks(
  kernelOf: () => AttentionKernel,
  refused: readonly Refusable[] = [],
): readonly Check[] {
  const parts = [valueChecks, unseenChecks, independenceChecks, relativeChecks, refusalChecks, memoryChecks];
  return parts.flatMap((checks) => checks(kernelOf, refused));
}
