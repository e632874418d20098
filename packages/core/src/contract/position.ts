// Where tokens stand, and all that a position method may add to attention.
import type * as tf from '@tensorflow/tfjs-core';
import type { NamedVariable } from './layer';
import type { Span } from './mask';

/** Where tokens stand: consecutive from a start, or each given. A leading axis of 1 serves the whole batch. */
export type TokenPositions =
  | { readonly start: readonly number[] } // [1 | B]
  | { readonly each: Int32Array }; // [1 | B, S], row-major

export interface Positions {
  readonly query: TokenPositions;
  readonly key: TokenPositions;
}

/** Table row for a distance d = key position - query position: rows[clamp(d - from)], or d - from where `rows` is absent. */
export interface DistanceIndex {
  readonly from: number;
  readonly rows?: Int32Array;
}

export interface DistanceTable<T extends tf.Tensor> {
  readonly table: T;
  readonly index: DistanceIndex;
}

/** All that a position method may add to attention itself. Every table is differentiable. */
export interface RelativeTables {
  /** Added to scores after scale and softcap: T5, ALiBi. */
  readonly bias?: DistanceTable<tf.Tensor2D>; // [Hq, R]
  /** Dotted with the query (or with a query of its own: Transformer-XL), inside scale and softcap: Shaw. */
  readonly keys?: DistanceTable<tf.Tensor3D> & { readonly query?: tf.Tensor4D }; // [1 | Hq, R, D]
  /** Dotted with the key, inside scale and softcap: DeBERTa's second term. */
  readonly queries?: DistanceTable<tf.Tensor3D>; // [1 | Hq, R, D]
  /** Weighted like values and added to the output: Shaw. */
  readonly values?: DistanceTable<tf.Tensor3D>; // [1 | Hq, R, Dv]
}

/** How a layer learns where tokens are. Shared by passing one object to several layers. */
export interface PositionMethod {
  readonly config: object; // plain JSON
  readonly variables: readonly NamedVariable[];
  /** True: gives nothing where keys are other tokens than the queries. */
  readonly selfOnly?: boolean;
  /** Turns heads by position, before scores and before a cache keeps them. Several positions: one per section. */
  rotate?(heads: tf.Tensor4D, role: 'query' | 'key', at: readonly TokenPositions[]): tf.Tensor4D;
  /** `query` is not rotated; `distances` are those that can occur in this call. */
  tables?(query: tf.Tensor4D, distances: Span): RelativeTables;
  dispose(): void;
}
