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
import { maskKinds } from './mask-kinds';

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
  checkNames(name, suite.refuses ?? {});
  let kernel: AttentionKernel | undefined;
  const createOnce = () => {
    kernel ??= create();
    return kernel;
  };
  beforeAll(() => createOnce().prepare?.());
  describeChecks(name, kernelChecks({ ...suite, create: createOnce }), knownGaps);
}

/** @throws Error for a mask that the suite does not know: tests are not compiled before they run */
function checkNames(kernel: string, refuses: object): void {
  const unknown = Object.keys(refuses).find(
    (name) => name.startsWith('mask: ') && !(name.slice(6) in maskKinds),
  );
  if (unknown === undefined) return;
  throw new Error(`${kernel}: refuses names "${unknown}"; masks are ${Object.keys(maskKinds).join(', ')}`);
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
