// Variant attention (author year, arXiv number). As it stands, multi-head attention:
//
//   head_h = softmax(Q W^Q_h (K W^K_h)^T / sqrt(D)) V W^V_h
//   output = concat(head_1 … head_H) W^O
import type {
  AttentionConfig,
  AttentionParts,
  LayerCall,
  LayerInputs,
  LayerResult,
  LayerReturn,
  VariableShapes,
} from '@polyhead/core';
import {
  AttentionLayer,
  attendHeads,
  attentionSizes,
  cleanTidy,
  projectionShapes,
} from '@polyhead/core/layer';

/** The options of every variant. Own ones are added here, and named to `attentionSizes`. */
export type VariantConfig = AttentionConfig;

const where = 'VariantAttention';

/**
 * Shapes of the variables of a layer, in order, without allocating any.
 *
 * @throws ConfigError as the layer's constructor does
 */
export function variableShapes(config: VariantConfig): VariableShapes {
  return projectionShapes(attentionSizes(where, config));
}

/**
 * @example
 * const attention = new VariantAttention({ embedDim: 512, numHeads: 8 });
 * const { output } = attention.apply({ query: x }, { mask: causal() });
 */
export class VariantAttention extends AttentionLayer<VariantConfig> {
  /** Its name in JSON. */
  static readonly kind = 'VariantAttention';

  /** @throws ConfigError for options that cannot be */
  constructor(config: VariantConfig, parts: AttentionParts = {}) {
    super(where, config, parts, {
      sizes: attentionSizes(where, config),
      variables: variableShapes(config),
    });
  }

  /**
   * @param inputs query [B, Sq, E]; key [B, Skv, E of keys] and value [B, Skv, E of values] for cross-attention
   * @returns output [B, Sq, outputDim], and on request weights [B, H, Sq, Skv], logSumExp [B, H, Sq] and
   *   headOutputs [B, H, Sq, Dv]
   * @throws ShapeError, ConfigError, UnsupportedError
   */
  apply<const Returns extends LayerReturn = never>(
    inputs: LayerInputs,
    call: LayerCall<Returns> = {},
  ): LayerResult<Returns> {
    const { query, key, value, cross, options } = this.checked(inputs, call);
    return cleanTidy(() =>
      attendHeads(
        {
          ...this.scoreOptions(options),
          cross,
          query: this.heads('query', query), // [B, H, Sq, D]
          key: key && this.heads('key', key), // [B, H, Skv, D]
          value: value && this.heads('value', value), // [B, H, Skv, Dv]
        },
        (heads) => this.merged(heads, query, options), // [B, Sq, outputDim]
      ),
    );
  }
}
