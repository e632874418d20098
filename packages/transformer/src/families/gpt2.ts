// GPT-2 (Radford et al. 2019).
import type { WeightSource } from '@polyhead/core/layer';
import type { HuggingFaceConfig } from './hugging-face-config';
import {
  forEach,
  fromZero,
  linear,
  type ModelDescription,
  norm,
  type Sources,
  same,
  withPrefixes,
} from './model-description';

/** @throws ConfigError for what the family does not know */
export function gpt2(config: HuggingFaceConfig): ModelDescription {
  const embedDim = config.number('n_embd');
  const numHeads = config.number('n_head');
  const numLayers = config.number('n_layer');
  const maxLength = config.number('n_positions');
  const isTied = config.flag('tie_word_embeddings', true);
  const dropout = config.number('resid_pdrop', 0.1);
  config.ignore('n_ctx', 'embd_pdrop', 'reorder_and_upcast_attn');
  config.ignore(
    ...['type', 'use_proj', 'activation', 'first_dropout', 'proj_to_labels'].map((key) => `summary_${key}`),
  );
  config.only('add_cross_attention', false);
  return {
    config: {
      kind: 'Decoder',
      config: {
        vocabularySize: config.number('vocab_size'),
        embedDim,
        numLayers,
        maxLength,
        norm: { kind: 'layer', epsilon: config.number('layer_norm_epsilon', 1e-5) },
        feedForward: {
          hiddenDim: config.number('n_inner', 4 * embedDim),
          activation: config.activation('activation_function', 'gelu_new'),
        },
        head: isTied ? 'tied' : 'own',
        dropout,
      },
      parts: {
        ...fromZero,
        positions: {
          kind: 'learned',
          config: { embedDim, maxPositions: maxLength },
          parts: { ...fromZero, name: 'position' },
        },
        attention: scalesOf(config, embedDim / numHeads, numLayers).map((scale, layer) => ({
          kind: 'MultiHeadAttention',
          config: { embedDim, numHeads, useBias: true, scale, dropout: config.number('attn_pdrop', 0.1) },
          parts: { ...fromZero, name: `block${layer}/attention` },
        })),
      },
    },
    weights: {
      variables: {
        ...withPrefixes(sourcesOf(embedDim, numLayers), ['transformer.', '']),
        ...(!isTied && linear('head', 'lm_head', false)),
      },
      ignored: ['*.attn.bias', '*.attn.masked_bias'],
      ...(isTied && { tied: { 'lm_head.weight': 'transformer.wte.weight' } }),
    },
  };
}

function scalesOf(config: HuggingFaceConfig, headDim: number, numLayers: number): readonly number[] {
  const scale = config.flag('scale_attn_weights', true) ? headDim ** -0.5 : 1;
  const isByLayer = config.flag('scale_attn_by_inverse_layer_idx', false);
  return Array.from({ length: numLayers }, (_, layer) => (isByLayer ? scale / (layer + 1) : scale));
}

/** Matrices of GPT-2 are [in, out], as ours; queries, keys and values lie side by side. */
function sourcesOf(embedDim: number, numLayers: number): Sources {
  const pair = (ours: string, theirs: string): Sources => ({
    [`${ours}/kernel`]: same(`${theirs}.weight`),
    [`${ours}/bias`]: same(`${theirs}.bias`),
  });
  const part = (theirs: string, axis: number, index: number): WeightSource => ({
    tensor: theirs,
    steps: [{ slice: { axis, start: index * embedDim, size: embedDim } }],
  });
  return {
    'embedding/table': same('transformer.wte.weight'),
    'position/table': same('transformer.wpe.weight'),
    ...forEach(numLayers, (layer): Sources => {
      const [ours, theirs] = [`block${layer}`, `transformer.h.${layer}`];
      const fused = forEach(3, (index): Sources => {
        const name = ['query', 'key', 'value'][index]!;
        return {
          [`${ours}/attention/${name}/kernel`]: part(`${theirs}.attn.c_attn.weight`, 1, index),
          [`${ours}/attention/${name}/bias`]: part(`${theirs}.attn.c_attn.bias`, 0, index),
        };
      });
      return {
        ...fused,
        ...pair(`${ours}/attention/output`, `${theirs}.attn.c_proj`),
        ...norm(`${ours}/attentionNorm`, `${theirs}.ln_1`, 'layer'),
        ...norm(`${ours}/feedForwardNorm`, `${theirs}.ln_2`, 'layer'),
        ...pair(`${ours}/feedForward/up`, `${theirs}.mlp.c_fc`),
        ...pair(`${ours}/feedForward/down`, `${theirs}.mlp.c_proj`),
      };
    }),
    ...norm('finalNorm', 'transformer.ln_f', 'layer'),
  };
}
