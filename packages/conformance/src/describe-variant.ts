// The suite every variant passes, on every backend.
import { type Check, describeChecks, type KnownGaps } from './check';
import { cacheChecks } from './variant-checks/cache';
import { callChecks } from './variant-checks/calls';
import { errorChecks } from './variant-checks/errors';
import { variantMemoryChecks } from './variant-checks/memory';
import { commonOptions, type Variant } from './variant-checks/suite';
import { variantValueChecks } from './variant-checks/values';
import { weightChecks } from './variant-checks/weights';

/** A variant, and all that the suite is told of it. */
export interface VariantSuite extends Omit<Variant, 'options'> {
  /** The options its config has beside embedDim, numHeads and seed. Default: `commonOptions`. */
  readonly options?: Variant['options'];
  /** Checks that fail, with the reason. One that passes breaks the suite. */
  readonly knownGaps?: KnownGaps;
}

/**
 * Runs the suite on a variant.
 *
 * @example describeVariant('MultiHeadAttention', { create: (config) => new MultiHeadAttention(config) });
 */
export function describeVariant(
  name: string,
  { options = commonOptions, knownGaps, ...variant }: VariantSuite,
): void {
  // Layers run by the same operations.
  describeChecks(name, variantChecks({ ...variant, options }), knownGaps, 3);
}

/** All checks of a variant. */
export function variantChecks(variant: Variant): readonly Check[] {
  const parts = [variantValueChecks, weightChecks, callChecks, cacheChecks, errorChecks, variantMemoryChecks];
  return parts.flatMap((checks) => checks(variant));
}
