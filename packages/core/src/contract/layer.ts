// The interface every variant shares.
import type * as tf from '@tensorflow/tfjs-core';
import type { AttentionKernel } from './kernel';
import type { CacheShape, KeyValueCache } from './key-value-cache';
import type { Mask } from './mask';
import type { PositionMethod, TokenPositions } from './position';

export interface NamedVariable {
  readonly name: string;
  readonly variable: tf.Variable;
}

/** Objects a layer works with; never part of its config. */
export interface LayerParts {
  readonly kernel?: AttentionKernel; // default: composed
  readonly position?: PositionMethod;
}

export interface LayerInputs {
  readonly query: tf.Tensor3D; // [B, Sq, E]
  readonly key?: tf.Tensor3D; // absent: self-attention, or the rows of a sealed cache
  readonly value?: tf.Tensor3D; // absent: the key
}

export interface LayerCall {
  readonly mask?: Mask;
  readonly bias?: tf.Tensor4D;
  readonly cache?: KeyValueCache;
  readonly positions?: readonly TokenPositions[];
  readonly queryStart?: number | readonly number[];
  readonly lengths?: readonly number[]; // new tokens that count, per batch entry of a right-padded chunk
  readonly kernel?: AttentionKernel;
  readonly training?: { readonly seed: number }; // dropout is off without it
  readonly returns?: readonly ('weights' | 'logSumExp' | 'headOutputs')[];
}

export type LayerResult = {
  readonly output: tf.Tensor3D; // [B, Sq, outputDim], E by default
  readonly weights?: tf.Tensor4D; // [B, Hq, Sq, Skv], before dropout
  readonly logSumExp?: tf.Tensor3D; // [B, Hq, Sq], natural log
  readonly headOutputs?: tf.Tensor4D; // [B, Hq, Sq, Dv], before the output projection
  readonly kernel: string;
};

/** The interface every variant shares. `new Variant(config, parts)`; config is plain JSON and rebuilds the layer. */
export interface Attention<Config extends object = object> {
  readonly config: Readonly<Config>;
  readonly variables: readonly NamedVariable[]; // own first, then the position method's under "position/"
  apply(inputs: LayerInputs, call?: LayerCall): LayerResult;
  cacheShape(batch: number): CacheShape;
  /** The caller's own tensors, by variable name: dispose them. */
  getWeights(): { readonly [name: string]: tf.Tensor };
  setWeights(weights: { readonly [name: string]: tf.Tensor }): void;
  dispose(): void; // own variables only
}
