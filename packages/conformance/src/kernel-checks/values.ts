// Checks that a kernel gives the right numbers: results and gradients of every case against the oracle.
import { type AttentionKernel, composed } from '@polyhead/core';
import type { AttentionCase, CaseRow } from '../attention-case';
import { broadcastCases, coveringCases, largeCases, lonelyKeyCases, type Refusable } from '../cases';
import type { Check } from '../check';
import { expectClose } from '../expect-close';
import { kernelGradients, kernelNumbers, type Numbers, oracleGradients, resultNames } from '../kernel-run';
import { attentionOracle } from '../oracle';

export function valueChecks(
  kernelOf: () => AttentionKernel,
  refused: readonly Refusable[],
): readonly Check[] {
  const others = [...broadcastCases, ...lonelyKeyCases, ...largeCases].filter(
    ({ row }) => !asksFor(row, refused),
  );
  const cases = [...coveringCases(refused), ...others];
  return cases.flatMap((found) => [
    { name: `equals the oracle: ${found.name}`, run: () => checkResults(kernelOf(), found) },
    {
      name: `gradients agree with central differences: ${found.name}`,
      run: () => checkGradients(kernelOf(), found),
    },
  ]);
}

function asksFor(row: CaseRow, refused: readonly Refusable[]): boolean {
  const { bias, softcap, sinkLogits, dropout, returns = [] } = row;
  const asked: { readonly [option in Refusable]?: unknown } = {
    ...{ bias, softcap, sinkLogits, dropout },
    weights: returns.includes('weights'),
    logSumExp: returns.includes('logSumExp'),
  };
  return refused.some((option) => asked[option]);
}

/** Throws unless the kernel's results for this case are the oracle's. */
export async function checkResults(kernel: AttentionKernel, found: AttentionCase): Promise<void> {
  const { maxAbsScore, ...oracle } = attentionOracle(found.oracle);
  const baseline = kernel === composed() ? undefined : await kernelNumbers(composed(), found);
  expectClose({
    actual: await kernelNumbers(kernel, found),
    expected: Object.fromEntries(resultNames(found).map((name) => [name, oracle[name]])),
    baseline: baseline && (() => baseline),
    maxAbsScore,
  });
}

/** Throws unless the kernel's gradients for this case are those of the oracle. */
export async function checkGradients(kernel: AttentionKernel, found: AttentionCase): Promise<void> {
  const { maxAbsScore } = attentionOracle(found.oracle);
  const entriesOf = isLarge(found) ? sample : (array: Float64Array) => [...array.keys()];
  const picked = (gradients: Numbers): Numbers =>
    Object.fromEntries(
      Object.entries(gradients).map(([name, all]) => [
        name,
        Float64Array.from(entriesOf(all), (n) => all[n]!),
      ]),
    );
  const baseline = kernel === composed() ? undefined : picked(await kernelGradients(composed(), found));
  expectClose({
    actual: picked(await kernelGradients(kernel, found)),
    expected: picked(oracleGradients(found, entriesOf)),
    baseline: baseline && (() => baseline),
    maxAbsScore,
    isGradient: true,
  });
}

/** The oracle is evaluated twice for each entry: where that is slow, a few entries have to do. */
function isLarge({ row: { sizes } }: AttentionCase): boolean {
  return sizes.B * sizes.Hq * sizes.Sq * sizes.Skv > 4000;
}

function sample(array: Float64Array): number[] {
  const count = Math.min(4, array.length);
  return Array.from({ length: count }, (_, n) => Math.floor(((n + 0.6) * array.length) / count));
}
