// Variant attention (author year, arXiv number). As it stands, multi-head attention:
//
//   head_h = softmax(Q W^Q_h (K W^K_h)^T / sqrt(D)) V W^V_h
//   output = concat(head_1 … head_H) W^O
import {
  type AttentionConfig,
  AttentionLayer,
  type AttentionParts,
  attendHeads,
  attentionSizes,
  type LayerCall,
  type LayerInputs,
  type LayerResult,
  projectionShapes,
  type VariableShapes,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';

/** Plain JSON: it rebuilds the layer, but for its weights. Own options go here, and into `attentionSizes`. */
export type VariantConfig = AttentionConfig;

const where = 'VariantAttention';

/**
 * Shapes of the variables of a layer, without allocating any.
 *
 * @throws ConfigError for options that cannot be
 */
export function variableShapes(config: VariantConfig): VariableShapes {
  return projectionShapes(attentionSizes(where, config));
}

/**
 * Attention with as many key and value heads as query heads.
 *
 * @example
 * const attention = new VariantAttention({ embedDim: 64, numHeads: 8 });
 * const { output } = attention.apply({ query: x }, { mask: causal() });
 */
export class VariantAttention extends AttentionLayer<VariantConfig> {
  /** @throws ConfigError for options that cannot be */
  constructor(config: VariantConfig, parts: AttentionParts = {}) {
    super(where, config, parts, { sizes: attentionSizes(where, config), variables: variableShapes(config) });
  }

  /**
   * @param inputs query [B, Sq, E]; key and value [B, Skv, E] for cross-attention
   * @returns output [B, Sq, E], and on request weights [B, H, Sq, Skv], logSumExp [B, H, Sq], headOutputs [B, H, Sq, D]
   * @throws ShapeError, ConfigError, UnsupportedError
   */
  apply(inputs: LayerInputs, call: LayerCall = {}): LayerResult {
    const { query, key, value, cross } = this.checked(inputs, call);
    return tf.tidy(() => {
      const heads = attendHeads({
        ...this.scoreOptions(call),
        cross,
        query: this.heads('query', query), // [B, H, Sq, D]
        ...(key && { key: this.heads('key', key) }), // [B, H, Skv, D]
        ...(value && { value: this.heads('value', value) }), // [B, H, Skv, D]
      });
      return this.merged(heads, call); // [B, Sq, E]
    });
  }
}
