// What describes DeBERTa's positions.
import { ConfigError } from '@polyhead/core';
import { checkNumber, checkOneOf, checkSizes, normalizeOptions } from '@polyhead/core/layer';
import { checkCounts, checkFlags, checkSeed } from '../check-options';

/** A product of content with positions: q · position, or position · k. */
export type DebertaTerm = 'contentToPosition' | 'positionToContent';

/** How distances are told apart. */
export interface DebertaDistances {
  /** Distances from here on share the last embeddings. Default: 512. */
  readonly maxDistance?: number | undefined;
  /**
   * Distances beyond half of it share buckets that widen as powers: `position_buckets`. At least 2, and half of it less
   * than maxDistance - 1. Default: none share.
   */
  readonly buckets?: number | undefined;
}

/** Embeddings of distances: [2 span, embedDim], where span is `buckets`, else `maxDistance`. */
export interface DebertaEmbeddingsConfig extends DebertaDistances {
  /** E, the width of an embedding. */
  readonly embedDim: number;
  /** Embeddings are normalized by a layer norm with this ε before they are projected: `norm_rel_ebd`. Default: they are not. */
  readonly normEpsilon?: number | undefined;
  /** Same config, same start. */
  readonly seed?: number | undefined;
}

/** Disentangled attention: embeddings of distances, and how they are projected to heads. */
export interface DebertaConfig extends Omit<DebertaEmbeddingsConfig, 'normEpsilon'> {
  /** Hq, the number of query heads. */
  readonly numHeads: number;
  /** D, the size of a head. Default: E / Hq. */
  readonly headDim?: number | undefined;
  /** Which terms are added to q · k. Default: both. */
  readonly terms?: readonly DebertaTerm[] | undefined;
  /**
   * What projects the embeddings: matrices of the method's `own`, or the query and key projections of the `layer`
   * (`share_att_key`). Default: `own`.
   */
  readonly projections?: 'own' | 'layer' | undefined;
  /** A bias after each projection of its own. Default: true. */
  readonly useBias?: boolean | undefined;
}

export const bothTerms: readonly DebertaTerm[] = ['contentToPosition', 'positionToContent'];

const embeddingOptions = ['embedDim', 'maxDistance', 'buckets', 'seed'] as const;

/** Half of the embeddings: `buckets`, else `maxDistance`. */
export function spanOf({ buckets, maxDistance = 512 }: DebertaDistances): number {
  return buckets ?? maxDistance;
}

/** @throws ConfigError for options that cannot be */
export function checkEmbeddingsConfig(
  where: string,
  options: DebertaEmbeddingsConfig,
): DebertaEmbeddingsConfig {
  const known = [...embeddingOptions, 'normEpsilon'] as const;
  const config = normalizeOptions(where, 'config', options, known) as DebertaEmbeddingsConfig;
  checkDistances(where, config);
  const { normEpsilon = 0 } = config;
  checkNumber(where, 'normEpsilon', normEpsilon, [(epsilon) => epsilon >= 0, 'a number of at least 0']);
  return config;
}

/** @throws ConfigError for options that cannot be */
export function checkDeberta(where: string, options: DebertaConfig): DebertaConfig {
  const known = [...embeddingOptions, 'numHeads', 'headDim', 'terms', 'projections', 'useBias'] as const;
  const config = normalizeOptions(where, 'config', options, known) as DebertaConfig;
  const { embedDim, numHeads, headDim = embedDim / numHeads, terms, projections = 'own', useBias } = config;
  checkDistances(where, config);
  checkSizes(where, { numHeads, headDim });
  checkFlags(where, { useBias });
  checkOneOf(where, 'projections', projections, ['own', 'layer']);
  if (projections === 'layer' && useBias !== undefined) {
    throw new ConfigError(where, 'useBias is for projections of its own: those of a layer have its biases', {
      projections,
      useBias,
    });
  }
  if (terms !== undefined) checkTerms(where, terms);
  return config;
}

function checkDistances(where: string, config: Omit<DebertaEmbeddingsConfig, 'normEpsilon'>): void {
  const { embedDim, maxDistance = 512, buckets, seed } = config;
  checkSizes(where, { embedDim, ...(buckets !== undefined && { buckets }) });
  checkCounts(where, { maxDistance });
  checkSeed(where, seed);
  if (buckets === undefined || (buckets >= 2 && Math.floor(buckets / 2) < maxDistance - 1)) return;
  throw new ConfigError(where, 'buckets must be at least 2, and half of them less than maxDistance - 1', {
    buckets,
    maxDistance,
  });
}

function checkTerms(where: string, terms: readonly DebertaTerm[]): void {
  const isList = Array.isArray(terms) && terms.length > 0 && new Set(terms).size === terms.length;
  if (isList && terms.every((term) => bothTerms.includes(term))) return;
  throw new ConfigError(where, `terms may name ${bothTerms.join(', ')}, each once`, { terms });
}
