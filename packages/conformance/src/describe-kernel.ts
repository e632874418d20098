// The suite every kernel passes, on every backend.
import type { AttentionKernel } from '@polyhead/core';
import { beforeAll } from 'vitest';
import { type Check, describeChecks, type KnownGaps } from './check';
import { hiddenRowChecks } from './kernel-checks/hidden-rows';
import { independenceChecks } from './kernel-checks/independence';
import { memoryChecks } from './kernel-checks/memory';
import { refusalChecks } from './kernel-checks/refusals';
import { relativeChecks } from './kernel-checks/relative';
import { stateChecks } from './kernel-checks/state';
import type { KernelUnderTest } from './kernel-checks/suite';
import { valueChecks } from './kernel-checks/values';

/** A kernel, and all that the suite is told of it. */
export interface KernelSuite extends KernelUnderTest {
  /** Checks that fail, with the reason. One that passes breaks the suite. */
  readonly knownGaps?: KnownGaps;
}

/**
 * Runs the suite on a kernel, which is prepared first.
 *
 * @example describeKernel('composed', { create: composed });
 */
export function describeKernel(name: string, { create, knownGaps = {}, ...suite }: KernelSuite): void {
  let kernel: AttentionKernel | undefined;
  const createOnce = () => {
    kernel ??= create();
    return kernel;
  };
  beforeAll(() => createOnce().prepare?.());
  describeChecks(name, kernelChecks({ ...suite, create: createOnce }), knownGaps);
}

/** All checks of a kernel. */
export function kernelChecks(suite: KernelUnderTest): readonly Check[] {
  const parts = [
    valueChecks,
    hiddenRowChecks,
    independenceChecks,
    relativeChecks,
    refusalChecks,
    stateChecks,
    memoryChecks,
  ];
  return parts.flatMap((checks) => checks(suite));
}
