// Differential attention (Ye et al. 2024, 2410.05258): the difference of two softmaxes, which cancels what both see.
//
//   head_h = (1 - λ0) norm((softmax(Q1_h K1_hᵀ / sqrt(D)) - λ softmax(Q2_h K2_hᵀ / sqrt(D))) V_h)
//   λ = exp(λq1 · λk1) - exp(λq2 · λk2) + λ0
import {
  type AttentionConfig,
  type AttentionParts,
  ConfigError,
  type Initializer,
  type LayerCall,
  type LayerInputs,
  type LayerResult,
  type LayerReturn,
  mergeHeads,
  splitHeads,
} from '@polyhead/core';
import {
  AttentionLayer,
  attendHeads,
  attentionSizes,
  cleanTidy,
  normalize,
  normalizeOptions,
  project,
  projectionShapes,
} from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { mergeHostHeads, projectHost, splitHostHeads } from '../host-heads';
import { tabulate } from '../inputs';
import type { LayerOracleInputs } from '../layer-oracle';
import { attentionOracle, entryAt } from '../oracle';

/** The options of its config; λ0 is `lambdaInit`, default 0.8. */
export interface DifferentialConfig
  extends Omit<AttentionConfig, 'queryKeyNorm' | 'learnedSinks' | 'outputGate'> {
  readonly lambdaInit?: number;
}

const where = 'DifferentialAttention';
const options = ['headDim', 'valueHeadDim', 'keyEmbedDim', 'valueEmbedDim', 'outputDim', 'useBias'] as const;
const known = [
  'embedDim',
  'numHeads',
  ...options,
  'dropout',
  'scale',
  'softcap',
  'seed',
  'lambdaInit',
] as const;
const lambdas = ['lambda/query1', 'lambda/key1', 'lambda/query2', 'lambda/key2'];
const epsilon = 1e-5;

/** Two softmaxes are two heads of the kernel, 2h and 2h + 1, which share the value head h. */
function describe(config: DifferentialConfig) {
  const { lambdaInit: _, ...rest } = normalizeOptions(where, 'config', config, known) as DifferentialConfig;
  const sizes = attentionSizes(where, rest);
  const [H, D] = [sizes.numHeads, sizes.headDim];
  const { 'query/kernel': query, 'key/kernel': key, ...shapes } = projectionShapes(sizes);
  const small: Initializer = (shape, seed) => tf.randomNormal([...shape], 0, 0.1, 'float32', seed);
  return {
    sizes: { ...sizes, numHeads: 2 * H, numKeyValueHeads: 2 * H },
    variables: {
      'query/kernel': [query![0]!, 2 * H * D],
      'key/kernel': [key![0]!, 2 * H * D],
      ...shapes,
      ...('query/bias' in shapes && { 'query/bias': [2 * H * D] }),
      ...('key/bias' in shapes && { 'key/bias': [2 * H * D] }),
      ...Object.fromEntries(lambdas.map((name) => [name, [D]])),
      'norm/gain': [sizes.valueHeadDim],
    },
    starts: Object.fromEntries(lambdas.map((name) => [name, small])),
  };
}

/** Masks and `bias` have 2 H heads. It returns `headOutputs` only. */
export class DifferentialAttention extends AttentionLayer<DifferentialConfig> {
  static readonly kind = where;

  constructor(config: DifferentialConfig, parts: AttentionParts = {}) {
    super(where, config, parts, describe(config));
  }

  apply<const Returns extends LayerReturn = never>(
    inputs: LayerInputs,
    call: LayerCall<Returns> = {},
  ): LayerResult<Returns> {
    const { query, key, value, cross, options: checked } = this.checked(inputs, call);
    const returns: readonly LayerReturn[] = checked.returns ?? [];
    if (returns.some((name) => name !== 'headOutputs'))
      throw new ConfigError(where, 'returns may name headOutputs only', { returns });
    return cleanTidy(() =>
      attendHeads(
        {
          ...this.scoreOptions(checked),
          cross,
          query: this.heads('query', query), // [B, 2 H, Sq, D]
          key: key && this.heads('key', key), // [B, 2 H, Skv, D]
          value: value && this.valueTwice(value), // [B, 2 H, Skv, Dv]
        },
        ({ output, kernel }) => {
          const heads = this.difference(output); // [B, H, Sq, Dv]
          const merged = project(
            mergeHeads(heads),
            this.weights.get('output/kernel'),
            this.weights.find('output/bias'),
          );
          const result = { output: merged, kernel, ...(returns.length > 0 && { headOutputs: heads }) };
          return result as unknown as LayerResult<Returns>;
        },
      ),
    );
  }

  private valueTwice(x: tf.Tensor3D): tf.Tensor4D {
    const value = project(x, this.weights.get('value/kernel'), this.weights.find('value/bias'));
    const [B, H, S, Dv] = splitHeads(value, this.config.numHeads).shape;
    const heads = tf.reshape(splitHeads(value, H), [B, H, S * Dv]);
    return tf.reshape(tf.concat([heads, heads], 2), [B, 2 * H, S, Dv]);
  }

  private difference(output: tf.Tensor4D): tf.Tensor4D {
    const [B, heads, S, Dv] = output.shape;
    const [one, other] = tf.split(tf.reshape(output, [B, heads / 2, 2 * S * Dv]), 2, 2);
    const product = (n: number) =>
      tf.exp(tf.sum(tf.mul(this.weights.get(lambdas[n]!), this.weights.get(lambdas[n + 1]!))));
    const { lambdaInit = 0.8 } = this.config;
    const lambda = tf.add(tf.sub(product(0), product(2)), lambdaInit);
    const left = tf.reshape<tf.Rank.R4>(tf.sub(one!, tf.mul(other!, lambda)), [B, heads / 2, S, Dv]);
    const gain = this.weights.get('norm/gain');
    return tf.mul(normalize(left, { kind: 'rms', epsilon }, { gain }), 1 - lambdaInit);
  }
}

/** The definition, in doubles. */
export function differentialOracle({
  config,
  weights,
  query,
  key = query,
  value = key,
  ...call
}: LayerOracleInputs) {
  const { numHeads: H, scale, softcap, lambdaInit = 0.8 } = config as DifferentialConfig;
  const [q, k] = [projectHost(query, weights, 'query'), projectHost(key, weights, 'key')];
  const v = splitHostHeads(projectHost(value, weights, 'value'), H);
  const [queries, keys] = [splitHostHeads(q, 2 * H), splitHostHeads(k, 2 * H)];
  const [B, , Sq, D] = queries.shape as [number, number, number, number];
  const [Skv, Dv] = v.shape.slice(2) as [number, number];
  const { output, maxAbsScore } = attentionOracle({
    ...call,
    sizes: { B, Hq: 2 * H, Hkv: 2 * H, Sq, Skv, D, Dv },
    query: queries.data,
    key: keys.data,
    value: tabulate([B, 2 * H, Skv, Dv], (b, h, j, d) => entryAt(v, [b, Math.floor(h / 2), j, d])).data,
    ...(scale !== undefined && { scale }),
    ...(softcap !== undefined && { softcap }),
  });
  const dot = (n: number) =>
    weights[lambdas[n]!]!.data.reduce((sum, x, d) => sum + x * weights[lambdas[n + 1]!]!.data[d]!, 0);
  const lambda = Math.exp(dot(0)) - Math.exp(dot(2)) + lambdaInit;
  const at = (b: number, h: number, i: number, d: number) => output[((b * 2 * H + h) * Sq + i) * Dv + d]!;
  const left = (b: number, h: number, i: number, d: number) =>
    at(b, 2 * h, i, d) - lambda * at(b, 2 * h + 1, i, d);
  // Where the softmaxes all but cancel, the norm enlarges what rounding leaves of them.
  let enlarged = 1;
  const heads = tabulate([B, H, Sq, Dv], (b, h, i, d) => {
    let squares = 0;
    for (let n = 0; n < Dv; n++) squares += left(b, h, i, n) ** 2;
    const root = Math.sqrt(squares / Dv + epsilon);
    enlarged = Math.max(enlarged, Math.abs(at(b, 2 * h, i, d)) / root);
    return ((1 - lambdaInit) * left(b, h, i, d) * weights['norm/gain']!.data[d]!) / root;
  });
  return {
    output: projectHost(mergeHostHeads(heads), weights, 'output').data,
    headOutputs: heads.data,
    maxAbsScore: Math.max(maxAbsScore, 100 * enlarged),
  };
}
