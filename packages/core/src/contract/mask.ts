// What a mask is, and what it becomes for one call. The masks themselves stand in `masks/`.
import type * as tf from '@tensorflow/tfjs-core';

/** Half-open range [from, to). */
export type Span = readonly [from: number, to: number];

/**
 * Which keys each query row may see, as sorted disjoint spans in token order. Anyone can write one. Intersection and
 * union of spans are spans, so `allOf` and `anyOf` stay exact. Only `dense` needs a tensor; it is and-ed with the spans.
 */
export interface Mask {
  readonly name: string;
  /** Spans depend on the batch entry. */
  readonly perBatch: boolean;
  /** Spans depend on the query head. */
  readonly perHead: boolean;
  spans(row: MaskRow): readonly Span[]; // core clips them to the keys that exist
  readonly dense?: readonly tf.Tensor[]; // the caller's; each broadcasts to [B, Hq, Sq, Skv]
  /** Throws a `ShapeError` where the mask was made for a call of other sizes. */
  check?(call: MaskCall): void;
}

/** The sizes of the call a mask is used in. */
export interface MaskCall {
  readonly batch: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

/** The query row that a mask is asked about. */
export interface MaskRow {
  readonly b: number;
  readonly h: number;
  readonly index: number; // row within this call
  readonly query: number; // its token order; negative when there are more queries than keys
  readonly end: number; // one past the last key's token order
}

/** A mask compiled for one call. Host memory; size-1 axes broadcast. Most masks have width 1: one span a row. */
export interface MaskPlan {
  readonly shape: readonly [batch: number, heads: number, rows: number, width: number];
  readonly spans: Int32Array; // [...shape, 2], key columns; empty spans have from = to
  readonly full: boolean; // every pair visible, nothing dense
  readonly dense: readonly tf.Tensor4D[];
  /** Visible pairs over the whole call; an upper bound when `dense` is not empty. */
  readonly pairs: number;
  tile(b: number, h: number, rows: Span, columns: Span): 'empty' | 'full' | 'partial';
}
