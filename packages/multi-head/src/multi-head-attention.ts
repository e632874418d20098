// Multi-head attention (Vaswani et al. 2017, 1706.03762):
//
//   head_h = softmax(Q W^Q_h (K W^K_h)^T / sqrt(D)) V W^V_h
//   output = concat(head_1 … head_H) W^O
import {
  type AttentionParts,
  type LayerCall,
  type LayerInputs,
  type LayerResult,
  type LayerReturn,
  splitHeads,
} from '@polyhead/core';
import { AttentionLayer, attendHeads, cleanTidy } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { withMemory } from './memory-key-values';
import { type MultiHeadConfig, multiHeadSizes, variableShapes, where } from './multi-head-config';

/**
 * Self-, cross- and causal attention with H heads.
 *
 * @example
 * const attention = new MultiHeadAttention({ embedDim: 512, numHeads: 8 });
 * const { output } = attention.apply({ query: x }, { mask: causal() });
 */
export class MultiHeadAttention extends AttentionLayer<MultiHeadConfig> {
  /** Its name in JSON. */
  static readonly kind = 'MultiHeadAttention';

  /** @throws ConfigError for options that cannot be */
  constructor(config: MultiHeadConfig, parts: AttentionParts = {}) {
    super(where, config, parts, { sizes: multiHeadSizes(config), variables: variableShapes(config) });
  }

  /**
   * @param inputs query [B, Sq, E]; key [B, Skv, E of keys] and value [B, Skv, E of values] for cross-attention
   * @returns output [B, Sq, outputDim], and on request weights [B, H, Sq, Skv + memory], logSumExp [B, H, Sq] and
   *   headOutputs [B, H, Sq, Dv]
   * @throws ShapeError, ConfigError, UnsupportedError
   */
  apply<const Returns extends LayerReturn = never>(
    inputs: LayerInputs,
    call: LayerCall<Returns> = {},
  ): LayerResult<Returns> {
    const { query, key, value, cross, options } = this.checked(inputs, call);
    return cleanTidy(() => {
      const call = this.scoreOptions(options, {
        cross,
        query: this.heads('query', query), // [B, H, Sq, D]
        key: key && this.heads('key', key), // [B, H, Skv, D]
        value: value && this.heads('value', value), // [B, H, Skv, Dv]
      });
      const memory = this.memory();
      return attendHeads(
        memory ? { ...call, kernel: withMemory(call.kernel, memory) } : call,
        (heads) => this.merged(heads, query, options), // [B, Sq, outputDim]
      );
    });
  }

  /** The layer's own keys [1, H, M, D] and values [1, H, M, Dv], where it has some. */
  private memory() {
    const { numMemoryKeyValues, addZeroAttention } = this.config;
    if (!numMemoryKeyValues && !addZeroAttention) return undefined;
    return { key: this.ownRows('key'), value: this.ownRows('value') };
  }

  private ownRows(name: 'key' | 'value'): tf.Tensor4D {
    const { numHeads } = this.config;
    const { keySize, valueSize } = this.cacheShape(1);
    const zeroRows = tf.zeros<tf.Rank.R4>([
      1,
      numHeads,
      this.config.addZeroAttention ? 1 : 0,
      name === 'key' ? keySize : valueSize,
    ]);
    const learned = this.weights.find(`memory/${name}`);
    if (!learned) return zeroRows;
    const rows = splitHeads(tf.expandDims<tf.Tensor3D>(learned, 0), numHeads); // [1, H, M, size]
    return this.config.addZeroAttention ? tf.concat([rows, zeroRows], 2) : rows;
  }
}
