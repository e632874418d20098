// The interface every variant shares.
import type * as tf from '@tensorflow/tfjs-core';
import type { AttentionKernel } from './kernel';
import type { CacheShape, KeyValueCache } from './key-value-cache';
import type { Mask } from './mask';
import type { PositionMethod, TokenPositions } from './position';
import type { ProductKernel } from './products';

/** A variable and its whole name, such as "block0/attention/query/kernel". */
export interface NamedVariable {
  /** Whole, as it stands in files of weights. */
  readonly name: string;
  /** The layer's or the position method's. */
  readonly variable: tf.Variable;
}

/** Objects a layer works with; never part of its config. */
export interface LayerParts {
  /** What computes attention. Default: that of `setDefaultKernel`, else `composed()`. */
  readonly kernel?: AttentionKernel | undefined;
  /** What multiplies with its weights. Default: that of `setDefaultProducts`, else `tfjsProducts()`. */
  readonly products?: ProductKernel | undefined;
  /** How the layer learns where tokens are. Default: not at all. */
  readonly position?: PositionMethod | undefined;
  /** Stands before the names of its variables, and gives each a start of its own: "block0/attention". Default: nothing. */
  readonly name?: string | undefined;
}

/** What a layer attends with. */
export interface LayerInputs {
  /** [B, Sq, E] */
  readonly query: tf.Tensor;
  /** [B, Skv, E of keys]. Default: the query, or the rows of a sealed cache or of a view. */
  readonly key?: tf.Tensor | undefined;
  /** [B, Skv, E of values]. Default: the key. */
  readonly value?: tf.Tensor | undefined;
  /**
   * False: the keys given are the queries' own tokens, in the same places. Default: true where a key is given, or a sealed
   * cache serves.
   */
  readonly cross?: boolean | undefined;
}

/** What may be asked of a layer beside its output. */
export type LayerReturn = 'weights' | 'logSumExp' | 'headOutputs';

/** Options of one call of a layer. */
export interface LayerCall<Returns extends LayerReturn = LayerReturn> {
  /** Which pairs may attend. Default: all. */
  readonly mask?: Mask | undefined;
  /** Added to scores; broadcasts to [B, Hq, Sq, Skv]. Default: nothing. */
  readonly bias?: tf.Tensor | undefined;
  /** Keys and values of earlier tokens, to which this call's are added. Default: none. */
  readonly cache?: KeyValueCache | undefined;
  /** Where the tokens of the query stand, one entry for each section. Default: behind those of the cache, else from 0. */
  readonly positions?: readonly TokenPositions[] | undefined;
  /** Token order of query row 0, for masks. Default: the last query stands at the last key, in each batch entry. */
  readonly queryStart?: number | readonly number[] | undefined;
  /** [B]: new tokens that count in a right-padded chunk for a cache, or of a view. Default: all. */
  readonly lengths?: readonly number[] | undefined;
  /** In place of the layer's own kernel. */
  readonly kernel?: AttentionKernel | undefined;
  /** Switches dropout on, drawn from this seed and the layer's. Default: off. */
  readonly training?: { readonly seed: number } | undefined;
  /** What is wanted beside the output. Default: nothing. */
  readonly returns?: readonly Returns[] | undefined;
}

interface Extras {
  /** [B, Hq, Sq, Skv], before dropout. */
  readonly weights: tf.Tensor4D;
  /** [B, Hq, Sq], natural log. */
  readonly logSumExp: tf.Tensor3D;
  /** [B, Hq, Sq, Dv], before the output projection. */
  readonly headOutputs: tf.Tensor4D;
}

/** What a layer gives: what was asked for is there. */
export type LayerResult<Returns extends LayerReturn = LayerReturn> = {
  /** [B, Sq, outputDim], E by default. */
  readonly output: tf.Tensor3D;
  /** The name of the kernel that ran. */
  readonly kernel: string;
} & (LayerReturn extends Returns ? Partial<Extras> : Pick<Extras, Returns>);

/** The interface every variant shares. `new Variant(config, parts)`; config is plain JSON and rebuilds the layer. */
export interface Attention<Config extends object = object> {
  /** Plain JSON, frozen. */
  readonly config: Readonly<Config>;
  /** Its own first, then those of the position method, by their whole names. */
  readonly variables: readonly NamedVariable[];
  /** True: calls may say where tokens stand, since the layer has a position method. Default: false. */
  readonly hasPosition?: boolean | undefined;
  /**
   * Attention of the inputs. Allocates exactly its result.
   *
   * @throws ShapeError, ConfigError, UnsupportedError; then a cache is as it was
   */
  apply<const Returns extends LayerReturn = never>(
    inputs: LayerInputs,
    call?: LayerCall<Returns>,
  ): LayerResult<Returns>;
  /** The sizes of a cache for this layer. */
  cacheShape(batch: number): CacheShape;
  /** Copies by the names that the variables have in the layer, such as "query/kernel": the caller disposes them. */
  getWeights(): { readonly [name: string]: tf.Tensor };
  /** @throws ShapeError for missing, unknown or misshapen weights; then nothing is set */
  setWeights(weights: { readonly [name: string]: tf.Tensor }): void;
  /** Its own variables only: a position method or a kernel may serve other layers. */
  dispose(): void;
  /** Plain JSON, which `fromConfig` reads: config, parts and drawn seed, without the numbers of the variables. */
  toJSON?(): object;
}
