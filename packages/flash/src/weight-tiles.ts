// Weights without their matrix: tiles of exp(score - logSumExp), made one after another and thrown away.
import type { KernelCall, Span } from '@polyhead/core';

/** Weights of a few queries of one head for a few keys, before dropout; 0 where a pair is hidden. */
export interface WeightTile {
  readonly b: number;
  readonly h: number; // of queries
  readonly rows: Span; // of queries
  readonly columns: Span; // of keys
  readonly weights: Float32Array | Float64Array; // [rows, columns], row-major; room that the next tile reuses
}

/** The query rows that are looked at, and the keys whose weights are needed. */
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
  visit(region: WeightRegion, logSumExp: Float64Array, take: (tile: WeightTile) => void): void;
}

/** Where weights come from. */
export interface WeightSource {
  /** Why it cannot give those of calls on the current backend; empty when it can. */
  unsupported(): readonly string[];
  open(call: KernelCall): CallWeights;
}
