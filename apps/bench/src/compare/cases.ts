// Which layers, caches and sizes are compared, and that they can be.
import { cacheShape } from '@polyhead/inspect';
import { predictCacheBytes, StaticCache } from '@polyhead/kv-cache';
import type { BackendName } from '../backends/backend-name';
import { UsageError } from '../command-line/errors';
import { formatBytes } from '../print/byte-size';
import {
  batchSizes,
  type CacheName,
  type ComparisonChoice,
  cacheNames,
  type ShapeName,
  shapeNames,
  type VariantName,
  variantNames,
} from './names';
import { type ComparisonShape, comparisonShapes, keyValueHeadsOf } from './shapes';

/** The cases of one shape: all variants with all caches, for every number of tokens and every batch. */
export interface ComparisonCases {
  readonly shape: ComparisonShape;
  readonly variants: readonly VariantName[];
  /** Of those chosen, the ones whose heads do not divide the shape's. */
  readonly leftOut: readonly VariantName[];
  readonly caches: readonly CacheName[];
  readonly tokens: readonly number[];
  readonly batches: readonly number[];
  /** Runs that are timed. */
  readonly samples: number;
}

/** The heap of the wasm backend ends at 4 GiB, and allocations leave gaps. */
const mostBytes = 3 * 2 ** 30;

interface Circumstances {
  readonly backend: BackendName;
  readonly quick: boolean;
}

/** @throws UsageError where nothing is left to compare, or memory does not hold it */
export function comparisonCases(choice: ComparisonChoice, circumstances: Circumstances): ComparisonCases[] {
  const shapes = choice.shape ?? defaultShapes(choice, circumstances);
  return shapes.map((name) => {
    const cases = casesOf(comparisonShapes[name], choice, circumstances);
    checkVariants(cases, choice);
    checkMemory(cases);
    return cases;
  });
}

/** Those that have a variant that is chosen; all, where none has, to be refused with a reason. */
function defaultShapes(
  { variant = variantNames }: ComparisonChoice,
  { backend }: Circumstances,
): readonly ShapeName[] {
  // Plain JavaScript takes seconds for one product with 4096 × 4096 numbers.
  const shapes: readonly ShapeName[] = backend === 'cpu' ? ['gpt-2'] : shapeNames;
  const fitting = shapes.filter((name) => variant.some((v) => exists(v, comparisonShapes[name])));
  return fitting.length > 0 ? fitting : shapes;
}

function exists(variant: VariantName, { config: { numHeads } }: ComparisonShape): boolean {
  return numHeads % keyValueHeadsOf(variant, numHeads) === 0;
}

function casesOf(
  shape: ComparisonShape,
  choice: ComparisonChoice,
  { backend, quick }: Circumstances,
): ComparisonCases {
  const isSlow = backend === 'cpu';
  const byDefault = quick ? shape.quick : shape;
  const {
    variant = variantNames,
    cache = cacheNames,
    batch = batchSizes,
  } = {
    ...(quick && shape.quick),
    ...choice,
  };
  const wanted = variantNames.filter((v) => v === 'multi-head' || variant.includes(v)); // the others' measure
  return {
    shape,
    variants: wanted.filter((v) => exists(v, shape)),
    leftOut: wanted.filter((v) => !exists(v, shape)),
    caches: cache,
    tokens: choice.tokens ?? (quick || isSlow ? [256] : [256, 1024]),
    batches: batch,
    samples: isSlow ? 3 : byDefault.samples,
  };
}

function checkVariants(
  { shape, variants, leftOut }: ComparisonCases,
  { variant: chosen }: ComparisonChoice,
): void {
  if (!chosen || variants.some((variant) => chosen.includes(variant))) return;
  const { numHeads } = shape.config;
  const valid = variantNames.filter((variant) => exists(variant, shape));
  throw new UsageError(
    `--variant ${leftOut.join(',')} is none of ${shape.name}, whose ${numHeads} heads do not divide so: ` +
      `choose from ${valid.join(', ')}, or another --shape`,
  );
}

function checkMemory({ shape, variants, caches, tokens, batches }: ComparisonCases): void {
  const { embedDim: E, numHeads } = shape.config;
  const heads = variants.map((variant) => keyValueHeadsOf(variant, numHeads));
  const [most, longest] = [Math.max(...batches), Math.max(...tokens)];
  const cacheBytes = heads.map((numKeyValueHeads) =>
    predictCacheBytes(StaticCache, cacheShape({ ...shape.config, numKeyValueHeads }, most), {
      capacity: longest,
    }),
  );
  const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);
  // Query and output weights are shared. The backend keeps a second, packed copy of each.
  const weightBytes = 2 * 4 * 2 * E * (E + sum(heads.map((Hkv) => (Hkv * E) / numHeads)));
  // The largest cache is also what it is filled from, what it grows into, and what a kernel reads.
  const bytes = weightBytes + caches.length * sum(cacheBytes) + 3 * Math.max(...cacheBytes);
  if (bytes <= mostBytes) return;
  throw new UsageError(
    `${shape.name} with ${longest.toLocaleString('en')} tokens and batch ${most} takes about ${formatBytes(bytes)}, ` +
      `more than the ${formatBytes(mostBytes)} to be had: choose fewer of --tokens, --batch, --cache or --variant`,
  );
}
