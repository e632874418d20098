// The attention layers that a plan is made for.
import type { CacheShape } from '@polyhead/core';
import type { LayerConfig } from '@polyhead/inspect';

export interface PlannedModel {
  readonly name: string;
  /** Attention layers, all alike. */
  readonly layers: number;
  /** Of one layer; absent where heads come from a latent, which no config describes. */
  readonly config?: LayerConfig;
  /** What a cache keeps of one sequence in one layer; absent in an encoder, which keeps nothing. */
  readonly cached?: CacheShape;
  /** Tokens that the model is made for. */
  readonly context?: number;
  /** Where the numbers are from, and what they leave out. */
  readonly notes: readonly string[];
}

// Sizes beyond these are no plan for anything.

/** Of a width, a number of heads, of layers or of sequences. */
export const mostSize = 2 ** 20;

/** Of a context. */
export const mostTokens = 2 ** 30;
