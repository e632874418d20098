// Llama (Touvron et al. 2023, 2302.13971) and what descends from it: Mistral, Qwen2, Qwen3, SmolLM3, Gemma.
import type { HuggingFaceConfig } from './hugging-face-config';
import { type LlamaType, layerTypes, positionsOf, type Sizes } from './llama-layers';
import {
  forEach,
  fromZero,
  type Json,
  linear,
  type ModelDescription,
  norm,
  type Sources,
  same,
} from './model-description';

/** What differs from one type to the next. */
interface Traits {
  /** Projections of attention that have a bias. */
  readonly useBias: readonly string[];
  /** Whether the feed-forward layer has biases. */
  readonly forwardBias: boolean;
  /** Whether queries and keys are normalized. */
  readonly hasQueryKeyNorm: boolean;
  /** Gemma: norms on both sides of a layer (not in its first version), gains that are stored less 1, scaled embeddings. */
  readonly isGemma: boolean;
  readonly isSandwich: boolean;
}

/** @throws ConfigError for what the family does not know */
export function llama(type: LlamaType, config: HuggingFaceConfig): ModelDescription {
  const sizes = sizesOf(type, config);
  const traits = traitsOf(type, config);
  const { embedDim, numLayers, epsilon } = sizes;
  const isTied = config.flag('tie_word_embeddings', type.startsWith('gemma') || type === 'smollm3');
  const types = layerTypes(sizes, config);
  const window = config.optionalNumber('sliding_window');
  const windows = types.map((one) => (one === 'sliding_attention' ? (window ?? null) : null));
  const { positions, maxLength } = positionsOf(sizes, config, types);
  const attention = attentionOf(sizes, traits, config);
  config.ignore('pretraining_tp'); // how products were split in training: sums in another order
  config.only('rope_interleaved', false);
  const { isGemma, isSandwich } = traits;
  return {
    config: {
      shared: positions.shared,
      value: {
        kind: 'Decoder',
        config: {
          vocabularySize: config.number('vocab_size'),
          embedDim,
          numLayers,
          maxLength,
          norm: { kind: 'rms', epsilon },
          ...(isSandwich && { normPlacement: 'sandwich' }),
          feedForward: {
            hiddenDim: config.number('intermediate_size'),
            activation: activationOf(type, config),
            gated: true,
            useBias: traits.forwardBias,
          },
          ...(isGemma && { embeddingScale: Math.fround(Math.sqrt(embedDim)) }),
          head: isTied ? 'tied' : 'own',
          ...(windows.some((one) => one !== null) && { windows }),
          logitSoftcap: config.optionalNumber('final_logit_softcapping'),
        },
        parts: {
          ...fromZero,
          attention: types.map((_, layer) => ({
            kind: 'GroupedQueryAttention',
            config: attention,
            parts: { ...fromZero, name: `block${layer}/attention`, position: positions.of(layer) },
          })),
        },
      },
    },
    weights: {
      variables: sourcesOf(sizes, traits, isTied),
      ignored: ['*.rotary_emb.inv_freq'],
      ...(isTied && { tied: { 'lm_head.weight': 'model.embed_tokens.weight' } }),
    },
  };
}

function sizesOf(type: LlamaType, config: HuggingFaceConfig): Sizes {
  const embedDim = config.number('hidden_size');
  const numHeads = config.number('num_attention_heads');
  return {
    type,
    embedDim,
    numLayers: config.number('num_hidden_layers'),
    numHeads,
    numKeyValueHeads: config.number('num_key_value_heads', numHeads),
    headDim: config.number('head_dim', embedDim / numHeads),
    epsilon: config.number('rms_norm_eps', 1e-6),
    maxLength: config.number('max_position_embeddings'),
  };
}

function traitsOf(type: LlamaType, config: HuggingFaceConfig): Traits {
  const isGemma = type.startsWith('gemma');
  const hasNoOption = type === 'mistral' || type === 'qwen2';
  const isBiased = !hasNoOption && config.flag('attention_bias', false);
  const inputs = type === 'qwen2' || isBiased ? ['query', 'key', 'value'] : [];
  const hasForwardBias = type === 'llama' || type === 'smollm3';
  return {
    useBias: isBiased ? [...inputs, 'output'] : inputs,
    forwardBias: hasForwardBias && config.flag('mlp_bias', false),
    hasQueryKeyNorm: type === 'qwen3' || type === 'gemma3_text',
    isGemma,
    isSandwich: isGemma && type !== 'gemma',
  };
}

/** Gemma's first configs name the exact gelu, and mean the other. */
function activationOf(type: LlamaType, config: HuggingFaceConfig) {
  if (!type.startsWith('gemma')) return config.activation('hidden_act', 'silu');
  config.ignore('hidden_act');
  return config.activation('hidden_activation', 'gelu_pytorch_tanh');
}

function attentionOf(sizes: Sizes, { useBias, hasQueryKeyNorm }: Traits, config: HuggingFaceConfig): Json {
  const { type, embedDim, numHeads, numKeyValueHeads, headDim, epsilon } = sizes;
  const isScaled = type === 'gemma2' || type === 'gemma3_text';
  const softcap = isScaled ? config.optionalNumber('attn_logit_softcapping') : undefined;
  if (type === 'gemma3_text') config.only('use_bidirectional_attention', false);
  return {
    embedDim,
    numHeads,
    numKeyValueHeads,
    headDim,
    ...(useBias.length > 0 && { useBias }),
    ...(isScaled && { scale: config.number('query_pre_attn_scalar', 256) ** -0.5 }),
    ...(softcap !== undefined && { softcap }),
    ...(hasQueryKeyNorm && { queryKeyNorm: { kind: 'rms', epsilon } }),
    dropout: config.number('attention_dropout', 0),
  };
}

/** Names of the norms: Gemma 2 and 3 have four of them in a block. */
function blockNorms({ isGemma, isSandwich }: Traits, ours: string, theirs: string): Sources {
  const offset = isGemma ? 1 : 0;
  const named = (name: string, other: string) => norm(`${ours}/${name}`, `${theirs}.${other}`, 'rms', offset);
  return {
    ...named('attentionNorm', 'input_layernorm'),
    ...named('feedForwardNorm', isSandwich ? 'pre_feedforward_layernorm' : 'post_attention_layernorm'),
    ...(isSandwich && {
      ...named('attentionOutputNorm', 'post_attention_layernorm'),
      ...named('feedForwardOutputNorm', 'post_feedforward_layernorm'),
    }),
  };
}

function sourcesOf({ numLayers }: Sizes, traits: Traits, isTied: boolean): Sources {
  const { useBias, forwardBias, hasQueryKeyNorm, isGemma } = traits;
  const offset = isGemma ? 1 : 0;
  return {
    'embedding/table': same('model.embed_tokens.weight'),
    ...forEach(numLayers, (layer): Sources => {
      const [ours, theirs] = [`block${layer}`, `model.layers.${layer}`];
      const map = (name: string, other: string) =>
        linear(`${ours}/attention/${name}`, `${theirs}.self_attn.${other}`, useBias.includes(name));
      const gain = (name: string, other: string) =>
        norm(`${ours}/attention/${name}`, `${theirs}.self_attn.${other}`, 'rms', offset);
      return {
        ...map('query', 'q_proj'),
        ...map('key', 'k_proj'),
        ...map('value', 'v_proj'),
        ...map('output', 'o_proj'),
        ...(hasQueryKeyNorm && { ...gain('query', 'q_norm'), ...gain('key', 'k_norm') }),
        ...linear(`${ours}/feedForward/gate`, `${theirs}.mlp.gate_proj`, forwardBias),
        ...linear(`${ours}/feedForward/up`, `${theirs}.mlp.up_proj`, forwardBias),
        ...linear(`${ours}/feedForward/down`, `${theirs}.mlp.down_proj`, forwardBias),
        ...blockNorms(traits, ours, theirs),
      };
    }),
    ...norm('finalNorm', 'model.norm', 'rms', offset),
    ...(!isTied && linear('head', 'lm_head', false)),
  };
}
