// Grouped-query attention (Ainslie et al. 2023, 2305.13245): each key/value head serves a group of G = Hq / Hkv query
// heads. One key/value head is multi-query attention (Shazeer 2019, 1911.02150).
//
//   head_h = softmax(Q W^Q_h (K W^K_g)^T / sqrt(D)) V W^V_g, with g = floor(h / G)
//   output = concat(head_1 … head_Hq) W^O
import {
  type AttentionConfig,
  type AttentionParts,
  ConfigError,
  type LayerCall,
  type LayerInputs,
  type LayerResult,
  type LayerReturn,
  type VariableShapes,
} from '@polyhead/core';
import {
  AttentionLayer,
  type AttentionSizes,
  attendHeads,
  attentionSizes,
  cleanTidy,
  projectionShapes,
} from '@polyhead/core/layer';

export interface GroupedQueryConfig extends AttentionConfig {
  /** Hkv, which must divide `numHeads`: 1 is multi-query, `numHeads` is multi-head attention. */
  readonly numKeyValueHeads: number;
}

const where = 'GroupedQueryAttention';

function sizesOf(config: GroupedQueryConfig): AttentionSizes {
  const numKeyValueHeads = config?.numKeyValueHeads ?? undefined;
  if (config && numKeyValueHeads === undefined) {
    throw new ConfigError(where, 'numKeyValueHeads must be given', {
      numHeads: config.numHeads,
      numKeyValueHeads,
    });
  }
  return attentionSizes(where, config, {
    options: ['numKeyValueHeads'],
    ...(numKeyValueHeads !== undefined && { numKeyValueHeads }),
  });
}

/**
 * Shapes of the variables of a layer, in order, without allocating any.
 *
 * @throws ConfigError as the layer's constructor does
 */
export function variableShapes(config: GroupedQueryConfig): VariableShapes {
  return projectionShapes(sizesOf(config));
}

/**
 * Attention whose keys and values, and their cache, are G times smaller. They are never repeated in memory.
 *
 * @example
 * const attention = new GroupedQueryAttention({ embedDim: 4096, numHeads: 32, numKeyValueHeads: 8 });
 * const { output } = attention.apply({ query: x }, { mask: causal() });
 */
export class GroupedQueryAttention extends AttentionLayer<GroupedQueryConfig> {
  /** Its name in JSON. */
  static readonly kind = 'GroupedQueryAttention';

  /** @throws ConfigError for options that cannot be */
  constructor(config: GroupedQueryConfig, parts: AttentionParts = {}) {
    super(where, config, parts, { sizes: sizesOf(config), variables: variableShapes(config) });
  }

  /**
   * @param inputs query [B, Sq, E]; key [B, Skv, E of keys] and value [B, Skv, E of values] for cross-attention
   * @returns output [B, Sq, outputDim], and on request weights [B, Hq, Sq, Skv], logSumExp [B, Hq, Sq] and
   *   headOutputs [B, Hq, Sq, Dv]
   * @throws ShapeError, ConfigError, UnsupportedError
   */
  apply<const Returns extends LayerReturn = never>(
    inputs: LayerInputs,
    call: LayerCall<Returns> = {},
  ): LayerResult<Returns> {
    const { query, key, value, cross, options } = this.checked(inputs, call);
    return cleanTidy(() =>
      attendHeads(
        this.scoreOptions(options, {
          cross,
          query: this.heads('query', query), // [B, Hq, Sq, D]
          key: key && this.heads('key', key), // [B, Hkv, Skv, D]
          value: value && this.heads('value', value), // [B, Hkv, Skv, Dv]
        }),
        (heads) => this.merged(heads, query, options), // [B, Sq, outputDim]
      ),
    );
  }
}
