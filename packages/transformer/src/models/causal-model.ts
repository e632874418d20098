// What generation knows of a model: tokens in, logits out, and the caches that go on with earlier tokens.
import type { AttentionKernel, CacheShape, KeyValueCache, Mask } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';

/** The caches of a decoder, one for each of its blocks. */
export interface LayerCaches {
  /** Keys and values of the decoder's own tokens. */
  readonly self: readonly KeyValueCache[];
  /**
   * Keys and values of an encoder's output: filled and sealed by the first call, which has a `memory`. Absent where a decoder
   * has no cross-attention.
   */
  readonly cross?: readonly KeyValueCache[] | undefined;
}

/** The sizes of those caches. */
export interface LayerCacheShapes {
  /** Of the decoder's own tokens. */
  readonly self: readonly CacheShape[];
  /** Of an encoder's output; none where a decoder has no cross-attention. */
  readonly cross: readonly CacheShape[];
}

/** Options of one call of a decoder. */
export interface CausalCall {
  /**
   * Of earlier tokens, to which this call's are added. A call that throws leaves them as they were; where one has forgotten
   * what it would need for that, all are empty. Default: none.
   */
  readonly cache?: LayerCaches | undefined;
  /**
   * [B]: pads at the left of each entry. They are hidden, and positions leave them out. Where a cache keeps them each later
   * call says the same. Default: none.
   */
  readonly leftPadding?: readonly number[] | undefined;
  /** [B]: tokens that count where this call is padded at the right. Default: all. */
  readonly lengths?: readonly number[] | undefined;
  /** And-ed with the masks of the model. Default: nothing more is hidden. */
  readonly mask?: Mask | undefined;
  /** What an encoder gave, [B, Sm, E]: needed in the first call of a decoder with cross-attention, and in each without a cache. */
  readonly memory?: tf.Tensor | undefined;
  /** [B]: rows of the memory that count. Default: all. */
  readonly memoryLengths?: readonly number[] | undefined;
  /** Of each token, or of the last token that counts of each entry. Default: `all`. */
  readonly logits?: 'all' | 'last' | undefined;
  /** In place of the layers' own kernel. */
  readonly kernel?: AttentionKernel | undefined;
  /** Switches dropout on, drawn from this seed and the layers'. Default: off. */
  readonly training?: { readonly seed: number } | undefined;
}

/** What a decoder gives. */
export interface CausalResult {
  /** [B, S, V], or [B, 1, V] of the last token. */
  readonly logits: tf.Tensor3D;
  /** The names of the kernels that ran, each once. */
  readonly kernels: readonly string[];
}

/** A model that scores the next token at each of its tokens: what generation needs of it. */
export interface CausalModel {
  /** V */
  readonly vocabularySize: number;
  /** The most tokens, with those of the cache, that its positions reach. Default: no bound. */
  readonly maxLength?: number | undefined;
  /**
   * Logits of the token that follows each. Allocates exactly its result.
   *
   * @param ids [B, S], int32
   * @throws ShapeError for tokens outside the vocabulary, or more of them than the model has positions
   * @throws ShapeError, ConfigError, UnsupportedError as its layers do; then all caches are as they were
   */
  apply(ids: tf.Tensor, call?: CausalCall): CausalResult;
  /** The sizes of the caches of its layers. */
  cacheShapes(batch: number): LayerCacheShapes;
}

/** Options of one call of an encoder. */
export interface EncoderCall {
  /** [B]: tokens that count. Default: all. */
  readonly lengths?: readonly number[] | undefined;
  /** [B, S], int32: the segment of each token, for models that have segments. Default: 0. */
  readonly segments?: tf.Tensor | undefined;
  /** In place of the layers' own kernel. */
  readonly kernel?: AttentionKernel | undefined;
  /** Switches dropout on, drawn from this seed and the layers'. Default: off. */
  readonly training?: { readonly seed: number } | undefined;
}

/** What an encoder gives. */
export interface EncoderResult {
  /** [B, S, E]; rows of padding hold what they hold, and count for nothing. */
  readonly output: tf.Tensor3D;
  /** The names of the kernels that ran, each once. */
  readonly kernels: readonly string[];
}

/** A model that reads a source whole, and scores the next token of a target: its decoder is a `CausalModel`. */
export interface SequenceToSequenceModel {
  /** Its `apply` takes what `encode` gives as `memory`. */
  readonly decoder: CausalModel;
  /** The token that a target begins with, where the model names one. */
  readonly startToken?: number | undefined;
  /**
   * The source, read whole. Allocates exactly its result.
   *
   * @param ids [B, S], int32
   * @throws ShapeError, ConfigError, UnsupportedError as `CausalModel.apply`
   */
  encode(ids: tf.Tensor, call?: EncoderCall): EncoderResult;
}
