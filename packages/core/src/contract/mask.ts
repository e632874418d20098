// What a mask is, and what it becomes for one call. The masks themselves are in `masks/`.
import type * as tf from '@tensorflow/tfjs-core';

/** Half-open range [from, to). */
export type Span = readonly [from: number, to: number];

/**
 * Which keys each query row may see, as spans in token order. Anyone can write one. Intersection and union of spans are
 * spans, so `allOf` and `anyOf` stay exact. Only `dense` needs a tensor; it is and-ed with the spans.
 *
 * The plan of a mask is remembered: asked again, a mask must answer the same.
 */
export interface Mask {
  /** Shown in errors. */
  readonly name: string;
  /** Whether spans depend on the batch entry. */
  readonly perBatch: boolean;
  /** Whether spans depend on the query head. */
  readonly perHead: boolean;
  /** The keys that a row may see. Bounds are whole numbers or infinite; core sorts, joins and clips the spans. */
  spans(row: MaskRow): readonly Span[];
  /** The caller's tensors, bool, or int32 of 0 and 1: each [Sq, Skv], or rank 4 that broadcasts to [B, Hq, Sq, Skv]. */
  readonly dense?: readonly tf.Tensor[] | undefined;
  /**
   * Token order of the first token of a batch entry, where the mask hides all keys before it, as left padding does.
   * Absent: 0.
   */
  start?(b: number): number;
  /** Throws a `ShapeError` where the mask was made for a call of other sizes. */
  check?(call: MaskCall): void;
  /** `{ kind, … }`: the factory's name in JSON and its arguments. Throws a `ConfigError` where that cannot be. */
  toJSON?(): object;
}

/** The sizes of the call a mask is used in. */
export interface MaskCall {
  /** B */
  readonly batch: number;
  /** Hq */
  readonly heads: number;
  /** Sq */
  readonly queries: number;
  /** Skv */
  readonly keys: number;
}

/** The query row whose keys a mask gives. */
export interface MaskRow {
  /** Batch entry. */
  readonly b: number;
  /** Query head. */
  readonly h: number;
  /** Row within this call. */
  readonly index: number;
  /** Token order of the row; negative where there are more queries than keys. */
  readonly query: number;
  /** Token order of the entry's first token: 0, or what left padding leaves out. Masks that count tokens count from it. */
  readonly start: number;
  /** One past the last key's token order. */
  readonly end: number;
}

/** A mask compiled for one call. Host memory; axes of size 1 broadcast. Most plans have width 1: one span a row. */
export interface MaskPlan {
  /** [1 | B, 1 | Hq, Sq, width] */
  readonly shape: readonly [batch: number, heads: number, rows: number, width: number];
  /** Visible key columns, [...shape, 2]: sorted and disjoint; empty spans have from = to and come last. */
  readonly spans: Int32Array;
  /** Every pair is visible, and nothing is dense. */
  readonly full: boolean;
  /**
   * Each row sees exactly the keys whose token order is at most its own (`KernelCall.order`; of stored rows those that
   * count), and nothing is dense. `causal()` gives it, and what means the same: no mask for one query at the last key.
   */
  readonly causal: boolean;
  /**
   * And-ed with the spans: bool, or int32 where all but 0 is visible; each broadcasts to [B, Hq, Sq, Skv]. Rows of many
   * spans become one of these, and their spans one from the first key to the last.
   */
  readonly dense: readonly tf.Tensor4D[];
  /** Visible pairs over the whole call; an upper bound where the caller's tensors hide some. */
  readonly pairs: number;
  /** From the first to one past the last key column that any of these query rows sees, in any head; [0, 0] if none. */
  visibleKeys(part: { readonly batch: Span; readonly rows: Span }): Span;
}
