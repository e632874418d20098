// Multi-head latent attention (DeepSeek-V2 2024, 2405.04434), without its rotary part: keys and values of all heads are
// made of one latent vector a token, c = x W^C, and only that is cached.
//
//   head_h = softmax(q_h (c W^K_h)ᵀ / sqrt(D)) c W^V_h = softmax((q_h W^K_hᵀ) cᵀ / sqrt(D)) c W^V_h
//
// On the right, which is computed here, all heads share one key/value head, c, and the value is a view of the key.
import {
  type AttentionConfig,
  type AttentionParts,
  ConfigError,
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
  normalizeOptions,
  project,
} from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { mergeHostHeads, projectHost, splitHostHeads } from '../host-heads';
import type { LayerOracleInputs } from '../layer-oracle';
import { attentionOracle } from '../oracle';

/** The options of its config; L is `latentDim`, default 3. */
export interface LatentConfig
  extends Pick<
    AttentionConfig,
    'embedDim' | 'numHeads' | 'headDim' | 'outputDim' | 'dropout' | 'scale' | 'seed'
  > {
  readonly latentDim?: number;
}

const where = 'LatentAttention';
const known = [
  'embedDim',
  'numHeads',
  'headDim',
  'outputDim',
  'dropout',
  'scale',
  'seed',
  'latentDim',
] as const;

function describe(config: LatentConfig) {
  const { latentDim = 3, ...rest } = normalizeOptions(where, 'config', config, known) as LatentConfig;
  const sizes = attentionSizes(where, rest);
  const { embedDim, numHeads: H, headDim: D, outputDim } = sizes;
  return {
    sizes: { ...sizes, numKeyValueHeads: 1, headDim: latentDim, valueHeadDim: 0 },
    headDim: D,
    variables: {
      'query/kernel': [embedDim, H * D],
      'latent/kernel': [embedDim, latentDim],
      'key/kernel': [latentDim, H * D],
      'value/kernel': [latentDim, H * D],
      'output/kernel': [H * D, outputDim],
    },
  };
}

/** Self-attention only: it takes a query and no key or value. */
export class LatentAttention extends AttentionLayer<LatentConfig> {
  static readonly kind = where;

  constructor(config: LatentConfig, parts: AttentionParts = {}) {
    super(where, config, parts, describe(config));
  }

  apply<const Returns extends LayerReturn = never>(
    inputs: LayerInputs,
    call: LayerCall<Returns> = {},
  ): LayerResult<Returns> {
    const { query, options } = this.checked(inputs, call);
    if (inputs.key || inputs.value)
      throw new ConfigError(where, 'its own tokens are its key and value: give a query only', {
        ...inputs,
      });
    const [H, D] = [this.config.numHeads, describe(this.config).headDim];
    const weight = (name: string) => this.weights.get(`${name}/kernel`);
    return cleanTidy(() => {
      const q = splitHeads(project(query, weight('query'), undefined), H); // [B, H, S, D]
      const latent = tf.expandDims<tf.Tensor4D>(project(query, weight('latent'), undefined), 1); // [B, 1, S, L]
      const { scale = 1 / Math.sqrt(D) } = this.config;
      return attendHeads(
        {
          ...this.scoreOptions(options),
          ...{ cross: false, scale, key: latent, value: latent }, // a cache keeps keys, and reads values as a view of them
          query: byHead(q, tf.transpose(perHead(weight('key'), H), [0, 2, 1])), // [B, H, S, L]
        },
        ({ output, ...rest }) => {
          const headOutputs = byHead(output, perHead(weight('value'), H)); // [B, H, S, D]
          const returns: readonly LayerReturn[] = options.returns ?? [];
          const result = {
            ...rest,
            output: project(mergeHeads(headOutputs), weight('output'), undefined),
            ...(returns.includes('headOutputs') && { headOutputs }),
          };
          return result as unknown as LayerResult<Returns>;
        },
      );
    });
  }
}

/** [L, H D] as [H, L, D]. */
function perHead(kernel: tf.Tensor, H: number): tf.Tensor3D {
  const [L, width] = kernel.shape as [number, number];
  return tf.transpose(tf.reshape(kernel, [L, H, width / H]), [1, 0, 2]);
}

/** Each head's rows times the head's matrix: [B, H, S, N] and [H, N, M] give [B, H, S, M]. */
function byHead(x: tf.Tensor4D, matrices: tf.Tensor3D): tf.Tensor4D {
  const [B, H, S, N] = x.shape;
  const rows = tf.reshape(tf.transpose(x, [1, 0, 2, 3]), [H, B * S, N]);
  return tf.transpose(tf.reshape(tf.matMul(rows, matrices), [H, B, S, matrices.shape[2]]), [1, 0, 2, 3]);
}

/** The definition, in doubles: keys and values of every head. */
export function latentOracle({ config, weights, query, ...call }: LayerOracleInputs) {
  const { numHeads: H, scale } = config;
  const latent = projectHost(query, weights, 'latent');
  const heads = (x: typeof query, name: string) => splitHostHeads(projectHost(x, weights, name), H);
  const [q, k, v] = [heads(query, 'query'), heads(latent, 'key'), heads(latent, 'value')];
  const [B, , S, D] = q.shape as [number, number, number, number];
  const { output, ...rest } = attentionOracle({
    ...call,
    ...(scale !== undefined && { scale }),
    sizes: { B, Hq: H, Hkv: H, Sq: S, Skv: S, D, Dv: D },
    ...{ query: q.data, key: k.data, value: v.data },
  });
  const merged = mergeHostHeads({ shape: [B, H, S, D], data: output });
  return { ...rest, headOutputs: output, output: projectHost(merged, weights, 'output').data };
}
