// Memory and speed of variants and caches: layers of well-known shapes in prefill and in decoding.

import type { AttentionKernel } from '@polyhead/core';
import type { Progress } from '../command-line/progress';
import { evenlySpread } from '../measure/evenly-spread';
import { type CachedRun, type CachedTiming, type ComparedLayer, timeCached } from './cached-speed';
import type { ComparisonCases } from './cases';
import { comparedKernels } from './kernels';
import type { ComparisonShape } from './shapes';
import { sharedWeights } from './shared-weights';

/** Of a prompt. */
export const prefillTokens = 32;

/** One shape after the other: their weights together would not fit. */
export async function compareVariants(
  cases: readonly ComparisonCases[],
  progress: Progress,
): Promise<CachedTiming[]> {
  const timings: CachedTiming[] = [];
  for (const { shape, variants, ...sizes } of cases) {
    progress.stage(`comparing variants of the ${shape.title}: making weights`);
    const [fastest, other] = comparedKernels();
    const layers = createLayers(shape, variants, fastest!);
    // The other kernel would double the time: it is measured where the report compares the two.
    const slower = other ? [{ ...layers[0]!, kernel: other, caches: sizes.caches.slice(-1) }] : [];
    try {
      for (const run of runsOf(shape, sizes)) {
        progress.stage(`comparing variants of the ${shape.title}: ${describeRun(run)}`);
        const compared = run.phase === 'decode' ? [...layers, ...slower] : layers;
        timings.push(...(await timeCached(compared, run, progress.advance)));
      }
    } finally {
      for (const { attention } of layers) attention.dispose();
    }
  }
  return timings;
}

function createLayers(
  shape: ComparisonShape,
  variants: ComparisonCases['variants'],
  kernel: AttentionKernel,
): ComparedLayer[] {
  const shared = sharedWeights();
  const heads = evenlySpread(3, shape.config.numHeads);
  const columns = evenlySpread(64, shape.config.embedDim);
  try {
    return variants.map((variant) => {
      // Layers of one shape start alike, whatever the variant.
      const attention = variant.create({ ...shape.config, seed: 1 }, shared.initializer);
      const sampled = variant.sample(attention, { heads, columns });
      return { shape, variant, attention, kernel, sampled };
    });
  } finally {
    shared.dispose();
  }
}

/** Prefill does not depend on the tokens that a cache will hold. */
function runsOf(
  shape: ComparisonShape,
  { caches, batches, tokens, samples }: Omit<ComparisonCases, 'shape' | 'variants' | 'leftOut'>,
): CachedRun[] {
  const shared = { caches, samples };
  const prefill = batches
    .filter((batch) => shape.prefillBatches.includes(batch))
    .map((batch): CachedRun => ({ ...shared, phase: 'prefill', batch, tokens: prefillTokens }));
  const decode = batches.flatMap((batch) =>
    tokens.map((count): CachedRun => ({ ...shared, phase: 'decode', batch, tokens: count })),
  );
  return [...prefill, ...decode];
}

function describeRun({ phase, batch, tokens }: CachedRun): string {
  const what = phase === 'prefill' ? `a prompt of ${tokens} tokens` : `decoding to ${tokens} tokens`;
  return `${what}, batch ${batch}`;
}
