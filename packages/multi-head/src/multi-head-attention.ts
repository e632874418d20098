// Multi-head attention (Vaswani et al. 2017, 1706.03762):
//
//   head_h = softmax(Q W^Q_h (K W^K_h)^T / sqrt(D)) V W^V_h
//   output = concat(head_1 … head_H) W^O
import {
  type Attention,
  type AttentionKernel,
  attendHeads,
  type CacheShape,
  checkLayerCall,
  checkLayerInputs,
  composed,
  type LayerCall,
  type LayerInputs,
  type LayerResult,
  mergeHeads,
  type NamedVariable,
  project,
  seedOf,
  splitHeads,
  Weights,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type KeyValues, withMemory } from './memory-key-values';
import {
  type MultiHeadConfig,
  type MultiHeadParts,
  type MultiHeadSizes,
  multiHeadSizes,
  variableShapes,
} from './multi-head-config';

const where = 'MultiHeadAttention';

/**
 * Self-, cross- and causal attention with H heads.
 *
 * @example
 * const attention = new MultiHeadAttention({ embedDim: 512, numHeads: 8 });
 * const { output } = attention.apply({ query: x }, { mask: causal() });
 */
export class MultiHeadAttention implements Attention<MultiHeadConfig> {
  readonly config: Readonly<MultiHeadConfig>;
  private readonly sizes: MultiHeadSizes;
  private readonly seed: number;
  private readonly weights: Weights;

  /** @throws ConfigError for options that cannot be */
  constructor(
    config: MultiHeadConfig,
    private readonly parts: MultiHeadParts = {},
  ) {
    this.config = Object.freeze({ ...config });
    this.sizes = multiHeadSizes(config);
    this.seed = config.seed ?? Math.floor(Math.random() * 2 ** 31);
    this.weights = new Weights(where, variableShapes(config), {
      seed: this.seed,
      ...(parts.initialiser && { initialiser: parts.initialiser }),
    });
  }

  /** Own variables, then those of the position method under "position/". */
  get variables(): readonly NamedVariable[] {
    const ofPosition = this.parts.position?.variables ?? [];
    const prefixed = ofPosition.map(({ name, variable }) => ({ name: `position/${name}`, variable }));
    return [...this.weights.variables, ...prefixed];
  }

  /**
   * @param inputs query [B, Sq, E]; key [B, Skv, E of keys] and value [B, Skv, E of values] for cross-attention
   * @returns output [B, Sq, outputDim], and on request weights [B, H, Sq, Skv + memory], logSumExp [B, H, Sq] and
   *   headOutputs [B, H, Sq, Dv]
   * @throws ShapeError, ConfigError, UnsupportedError
   */
  apply(inputs: LayerInputs, call: LayerCall = {}): LayerResult {
    checkLayerCall(where, call);
    const { query, key, value, cross } = checkLayerInputs(where, inputs, this.sizes, call);
    const { returns = [], kernel = this.parts.kernel ?? composed, training, ...options } = call;
    return tf.tidy(() => {
      const heads = attendHeads({
        ...options,
        ...this.scoreOptions(training),
        query: this.heads('query', query), // [B, H, Sq, D]
        ...(key && { key: this.heads('key', key) }), // [B, H, Skv, D]
        ...(value && { value: this.heads('value', value) }), // [B, H, Skv, Dv]
        cross,
        kernel: this.withOwnKeyValues(kernel),
        ...(this.parts.position && { position: this.parts.position }),
        returns: returns.filter((name) => name !== 'headOutputs'),
      });
      const { output: headOutputs, ...rest } = heads;
      const output = this.project('output', mergeHeads(headOutputs)); // [B, Sq, outputDim]
      return { ...rest, output, ...(returns.includes('headOutputs') && { headOutputs }) };
    });
  }

  cacheShape(batch: number): CacheShape {
    const { numHeads, headDim, valueHeadDim } = this.sizes;
    return { batch, heads: numHeads, keySize: headDim, valueSize: valueHeadDim };
  }

  getWeights(): Record<string, tf.Tensor> {
    return this.weights.read();
  }

  /** @throws ShapeError for missing, unknown or misshapen weights; then nothing is set */
  setWeights(weights: Readonly<Record<string, tf.Tensor>>): void {
    this.weights.write(weights);
  }

  dispose(): void {
    this.weights.dispose();
  }

  private heads(name: 'query' | 'key' | 'value', x: tf.Tensor3D): tf.Tensor4D {
    return splitHeads(this.project(name, x), this.sizes.numHeads);
  }

  private project(name: 'query' | 'key' | 'value' | 'output', x: tf.Tensor3D): tf.Tensor3D {
    return project(x, this.weights.get(`${name}/kernel`), this.weights.find(`${name}/bias`));
  }

  private scoreOptions(training: LayerCall['training']) {
    const { dropout, softcap } = this.sizes;
    const { scale } = this.config;
    return {
      ...(scale !== undefined && { scale }),
      ...(softcap > 0 && { softcap }),
      ...(training &&
        dropout > 0 && { dropout: { rate: dropout, seed: seedOf(this.seed, `${training.seed}`) } }),
    };
  }

  private withOwnKeyValues(kernel: AttentionKernel): AttentionKernel {
    const { numMemoryKeyValues, addZeroAttention, numHeads, headDim, valueHeadDim } = this.sizes;
    if (numMemoryKeyValues === 0 && !addZeroAttention) return kernel;
    const own = (name: 'key' | 'value', size: number): tf.Tensor4D => {
      const zeros: tf.Tensor4D = tf.zeros([1, numHeads, 1, size]);
      if (numMemoryKeyValues === 0) return zeros;
      const rows = tf.expandDims<tf.Tensor3D>(this.weights.get(`memory/${name}`), 0); // [1, M, H * size]
      const learned = splitHeads(rows, numHeads);
      return addZeroAttention ? tf.concat([learned, zeros], 2) : learned;
    };
    const memory: KeyValues = { key: own('key', headDim), value: own('value', valueHeadDim) };
    return withMemory(kernel, memory);
  }
}
