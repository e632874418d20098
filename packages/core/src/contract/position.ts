// Where tokens stand, and all that a position method may add to attention.
import type * as tf from '@tensorflow/tfjs-core';
import type { NamedVariable } from './layer';
import type { Span } from './mask';

/** Where tokens stand: consecutive from a start, or each given. A leading axis of 1 serves the whole batch. */
export type TokenPositions =
  | { readonly start: readonly number[]; readonly each?: undefined } // [1 | B]
  | { readonly each: Int32Array; readonly start?: undefined }; // [1 | B, S], row-major

/** Where the query rows and the keys of a call stand. */
export interface Positions {
  /** Of query rows. */
  readonly query: TokenPositions;
  /** Of keys. */
  readonly key: TokenPositions;
}

/** Table row for a distance d = key position - query position: rows[clamp(d - from)], or d - from where `rows` is absent. */
export interface DistanceIndex {
  /** The distance of the first row, or of the first entry of `rows`. */
  readonly from: number;
  /** The table row of each distance from `from` on; those beyond either end have its row. Default: one row a distance. */
  readonly rows?: Int32Array;
}

/** A table, and which of its rows a distance has. */
export interface DistanceTable<T extends tf.Tensor> {
  /** Differentiable. */
  readonly table: T;
  /** From distances to rows. */
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

/** Sizes of the heads of a layer. */
export interface HeadSizes {
  /** Hq */
  readonly numHeads: number;
  /** Hkv */
  readonly numKeyValueHeads: number;
  /** D */
  readonly headDim: number;
  /** Dv */
  readonly valueHeadDim: number;
}

/** What a position method, and a cache, may know of the layer that calls it. */
export interface LayerWeights {
  /** Its own, as `parts.name`, else that of its variant. */
  readonly name: string;
  /** The layer's own variable of this name, as `query/kernel`, widened to floats for the call; undefined where it has none. */
  weight(name: string): tf.Tensor | undefined;
}

/** Where rows of heads lie on the heap of a backend: for loops that read and write numbers in place. */
export interface HeadRows {
  /** float32 */
  readonly data: tf.Tensor;
  /** [B, H, S, D], however the rows lie. */
  readonly shape: readonly [number, number, number, number];
  /** How many of the S tokens of a batch entry have rows, the first ones. */
  tokens(b: number): number;
  /** The index in `data` of the first number of a row. */
  indexOf(b: number, h: number, s: number): number;
}

/** How a layer learns where tokens are. Shared by passing one object to several layers. */
export interface PositionMethod {
  /** Plain JSON, which makes the method again. */
  readonly config: object;
  /** Stands before the names of its variables, wherever they are listed. Default: that of the layer that lists them. */
  readonly name?: string | undefined;
  /** What it trains, by whole names. */
  readonly variables: readonly NamedVariable[];
  /** True: it has no meaning where keys are other tokens than the queries. Default: false. */
  readonly selfOnly?: boolean | undefined;
  /** What a layer multiplies products of queries and keys by where its config gives no `scale`: T5's is 1. */
  readonly scale?: number | undefined;
  /**
   * A layer asks once, when it is made, whether the method fits its heads.
   *
   * @throws ConfigError where it does not
   */
  check?(sizes: HeadSizes): void;
  /**
   * Turns heads by position, before scores and before a cache keeps them.
   *
   * @param heads [B, H, S, D]
   * @param at where the tokens are; several positions of a token: one entry for each section
   * @returns [B, H, S, D]
   */
  rotate?(heads: tf.Tensor4D, role: 'query' | 'key', at: readonly TokenPositions[]): tf.Tensor4D;
  /**
   * As `rotate`, untaped, where tensors lie on a heap: the same numbers, read where a product has left them, and written
   * where a kernel reads them, which may be rows that a cache has reserved. A method made of another that changes `rotate`
   * changes this, too, or leaves it out. Default: they are copied from what `rotate` gives.
   *
   * @param to rows of the shape of `heads`, of which the first tokens may be all there are
   */
  rotateInto?(to: HeadRows, heads: HeadRows, role: 'query' | 'key', at: readonly TokenPositions[]): void;
  /**
   * The tables of a call.
   *
   * @param query [B, Hq, Sq, D], not rotated
   * @param distances those that can occur in this call, key position - query position: the last one excluded
   * @param layer the one that calls, for methods that compute with its weights
   */
  tables?(query: tf.Tensor4D, distances: Span, layer?: LayerWeights): RelativeTables;
  /** Disposes what it owns; twice is once. */
  dispose(): void;
  /** Plain JSON, which `fromConfig` reads. */
  toJSON?(): object;
}
