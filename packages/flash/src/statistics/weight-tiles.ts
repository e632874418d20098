// Weights without their matrix: tiles of exp(score - logSumExp), made one after another and thrown away.
import type { KernelCall, Span } from '@polyhead/core';

/** Weights of a few queries of one head for a few keys, before dropout; 0 where a pair is hidden. */
export interface WeightTile {
  /** Batch entry. */
  readonly b: number;
  /** Query head. */
  readonly h: number;
  /** Queries, half-open. */
  readonly rows: Span;
  /** Keys, half-open. */
  readonly columns: Span;
  /** [rows, columns], row-major. The next tile is written into the same array: copy what is to stay. */
  readonly weights: Float32Array | Float64Array;
}

/** The query rows of a region, and the keys whose weights are needed. */
export interface WeightRegion {
  readonly heads: readonly number[];
  readonly rows: Span;
  readonly columns: Span;
}

/** The weights of one call. */
export interface CallWeights {
  /** [B, Hq, Sq]; what lies outside these heads and rows is not computed. */
  logSumExp(region: WeightRegion): Float64Array;
  /** Each tile of the region that may hold a visible pair, once; those of a row from its first key to its last. */
  visit(region: WeightRegion, logSumExp: Float64Array, onTile: (tile: WeightTile) => void): void;
}

/** Where weights come from. */
export interface WeightSource {
  /** Why it cannot give those of calls on the current backend; empty when it can. */
  unsupported(): readonly string[];
  open(call: KernelCall): CallWeights;
}
