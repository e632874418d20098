// Checks that a kernel gives the right numbers: results and gradients of every case against the oracle.
import { composed } from '@polyhead/core';
import type { AttentionCase } from '../attention-case';
import {
  broadcastCases,
  coveringCases,
  entrywiseCases,
  largeCases,
  lonelyKeyCases,
  type Refusable,
} from '../cases';
import type { Check } from '../check';
import { expectClose, expectSlopes } from '../expect-close';
import {
  composedGradients,
  composedNumbers,
  expectedGradients,
  expectedResults,
  expectedSlopes,
  kernelGradients,
  kernelNumbers,
  resultNames,
} from '../kernel-run';
import { allows, allowsRow, caseOf, isSoftmax, type KernelUnderTest } from './suite';

export function valueChecks(suite: KernelUnderTest): readonly Check[] {
  const refused = Object.keys(suite.refuses ?? {}) as Refusable[];
  const allowed = (cases: readonly AttentionCase[]) => cases.filter(({ row }) => allowsRow(suite, row));
  const ofSuite = (testCase: AttentionCase) => (suite.tensors ? caseOf(suite, testCase.row) : testCase);
  const entrywise = allowed(entrywiseCases).map(ofSuite);
  const cases = [
    ...[...coveringCases(refused), ...allowed([...broadcastCases, ...lonelyKeyCases, ...largeCases])].map(
      ofSuite,
    ),
    ...entrywise,
  ];
  const gradientChecks = (testCase: AttentionCase) => {
    const isEntrywise = entrywise.includes(testCase);
    const agreeing = isEntrywise ? 'central differences, entry by entry' : 'derivatives of the oracle';
    const run = () => (isEntrywise ? checkEachGradient(suite, testCase) : checkGradients(suite, testCase));
    return allows(suite, 'gradients')
      ? [{ name: `gradients agree with ${agreeing}: ${testCase.name}`, run }]
      : [];
  };
  return cases.flatMap((testCase) => [
    { name: `equals the oracle: ${testCase.name}`, run: () => checkResults(suite, testCase) },
    ...gradientChecks(testCase),
  ]);
}

/** True where the kernel's error is compared with that of `composed`. */
function hasBaseline(suite: KernelUnderTest): boolean {
  return isSoftmax(suite) && suite.create() !== composed();
}

/** Throws unless the kernel's results for this case are the oracle's. */
export async function checkResults(suite: KernelUnderTest, testCase: AttentionCase): Promise<void> {
  const { maxAbsScore, ...results } = expectedResults(testCase, suite.oracle);
  expectClose({
    actual: await kernelNumbers(suite.create(), testCase),
    expected: Object.fromEntries(resultNames(testCase).map((name) => [name, results[name]!])),
    baseline: hasBaseline(suite) ? await composedNumbers(testCase) : undefined,
    maxAbsScore,
  });
}

/** Throws unless the kernel's gradients for this case agree with derivatives of the oracle along random directions. */
export async function checkGradients(suite: KernelUnderTest, testCase: AttentionCase): Promise<void> {
  expectSlopes({
    gradients: await kernelGradients(suite.create(), testCase),
    slopes: expectedSlopes(testCase, suite.oracle),
    baseline: hasBaseline(suite) ? await composedGradients(testCase) : undefined,
    maxAbsScore: expectedResults(testCase, suite.oracle).maxAbsScore,
  });
}

/** Throws unless each entry of the kernel's gradients for this case is the oracle's. */
async function checkEachGradient(suite: KernelUnderTest, testCase: AttentionCase): Promise<void> {
  expectClose({
    actual: await kernelGradients(suite.create(), testCase),
    expected: expectedGradients(testCase, suite.oracle),
    baseline: hasBaseline(suite) ? await composedGradients(testCase) : undefined,
    maxAbsScore: expectedResults(testCase, suite.oracle).maxAbsScore,
    isGradient: true,
  });
}
