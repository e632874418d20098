// BART (Lewis et al. 2019, 1910.13461) and Marian (Junczys-Dowmunt et al. 2018, 1804.00344).
import type { HuggingFaceConfig } from './hugging-face-config';
import {
  forEach,
  fromZero,
  type Json,
  linear,
  type ModelDescription,
  norm,
  type Sources,
  same,
  withPrefixes,
} from './model-description';

type Stack = 'encoder' | 'decoder';

/** What the stacks of a model have in common. */
interface Shared {
  readonly isMarian: boolean;
  readonly embedDim: number;
  readonly maxLength: number;
  /** Whether source and target have one table of tokens. */
  readonly sharesEmbedding: boolean;
}

/** BART keeps two rows before the first position. */
const bartOffset = 2;

/** @throws ConfigError for what the family does not know */
export function bart(type: 'bart' | 'marian', config: HuggingFaceConfig): ModelDescription {
  const isMarian = type === 'marian';
  const shared: Shared = {
    isMarian,
    embedDim: config.number('d_model'),
    maxLength: config.number('max_position_embeddings'),
    sharesEmbedding: !isMarian || config.flag('share_encoder_decoder_embeddings', true),
  };
  const isTied = config.flag('tie_word_embeddings', true);
  ignoreWhatIsNotRead(config);
  const vocabularySize = config.number('vocab_size');
  const targets = isMarian ? config.number('decoder_vocab_size', vocabularySize) : vocabularySize;
  const decoder = stackOf('decoder', shared, config);
  const encoder = stackOf('encoder', shared, config);
  return {
    config: {
      shared: sharedParts(shared, vocabularySize),
      value: {
        kind: 'EncoderDecoder',
        config: { startToken: config.optionalNumber('decoder_start_token_id') },
        parts: {
          encoder: { kind: 'Encoder', config: { ...encoder.config, vocabularySize }, parts: encoder.parts },
          decoder: {
            kind: 'Decoder',
            config: {
              ...decoder.config,
              vocabularySize: targets,
              head: isTied ? 'tied' : 'own',
              headBias: true,
            },
            parts: {
              ...decoder.parts,
              crossAttention: attentionOf('decoder', 'crossAttention', [shared, config]),
            },
          },
        },
      },
    },
    weights: {
      variables: {
        ...withPrefixes(
          {
            ...embeddingSources(shared),
            ...stackSources('encoder', shared, config),
            ...stackSources('decoder', shared, config),
          },
          ['model.', ''],
        ),
        ...(!isTied && linear('decoder/head', 'lm_head', false)),
        'decoder/head/bias': {
          tensor: 'final_logits_bias',
          steps: [{ reshape: [targets] }],
          optional: true,
        },
      },
      // Sinusoids are computed.
      ...(isMarian && {
        ignored: ['*encoder.embed_positions.weight', '*decoder.embed_positions.weight'],
      }),
      tied: tiedTensors(shared, isTied),
    },
  };
}

/** Keys of old configs, which the models of today do not read, and those that they cannot have otherwise. */
function ignoreWhatIsNotRead(config: HuggingFaceConfig): void {
  config.ignore(
    'num_hidden_layers',
    'encoder_layerdrop',
    'decoder_layerdrop',
    'activation_dropout',
    'dropout',
  );
  config.ignore('add_bias_logits', 'extra_pos_embeddings');
  config.only('normalize_before', false);
  config.only('add_final_layer_norm', false);
  config.only('static_position_embeddings', true, false);
  config.only('normalize_embedding', true, false);
  config.only('is_encoder_decoder', true);
}

function sharedParts({ embedDim, sharesEmbedding }: Shared, vocabularySize: number): Json {
  if (!sharesEmbedding) return {};
  const config = { vocabularySize, embedDim };
  return { embedding: { kind: 'Embedding', config, parts: { ...fromZero, name: 'embedding' } } };
}

function stackOf(stack: Stack, shared: Shared, config: HuggingFaceConfig) {
  const { isMarian, embedDim, maxLength, sharesEmbedding } = shared;
  const isScaled = config.flag('scale_embedding', false);
  const position = isMarian
    ? { kind: 'sinusoidal', config: { embedDim, interleaved: false } }
    : {
        kind: 'learned',
        config: { embedDim, maxPositions: maxLength },
        parts: { ...fromZero, name: `${stack}/position` },
      };
  return {
    config: {
      embedDim,
      numLayers: config.number(`${stack}_layers`),
      maxLength,
      norm: { kind: 'layer' },
      normPlacement: 'post',
      feedForward: {
        hiddenDim: config.number(`${stack}_ffn_dim`),
        activation: config.activation('activation_function', 'gelu'),
      },
      ...(isScaled && { embeddingScale: Math.sqrt(embedDim) }),
      ...(!isMarian && { embeddingNorm: true }),
      dropout: config.number('dropout', 0.1),
    },
    parts: {
      ...fromZero,
      name: stack,
      positions: position,
      ...(sharesEmbedding && { embedding: { ref: 'embedding' } }),
      attention: attentionOf(stack, 'attention', [shared, config]),
    },
  };
}

function attentionOf(
  stack: Stack,
  name: 'attention' | 'crossAttention',
  [{ embedDim }, config]: readonly [Shared, HuggingFaceConfig],
): readonly Json[] {
  const sizes = {
    embedDim,
    numHeads: config.number(`${stack}_attention_heads`),
    useBias: true,
    dropout: config.number('attention_dropout', 0),
  };
  return Array.from({ length: config.number(`${stack}_layers`) }, (_, layer) => ({
    kind: 'MultiHeadAttention',
    config: sizes,
    parts: { ...fromZero, name: `${stack}/block${layer}/${name}` },
  }));
}

function embeddingSources({ sharesEmbedding }: Shared): Sources {
  if (sharesEmbedding) return { 'embedding/table': same('model.shared.weight') };
  return {
    'encoder/embedding/table': same('model.encoder.embed_tokens.weight'),
    'decoder/embedding/table': same('model.decoder.embed_tokens.weight'),
  };
}

function tiedTensors({ sharesEmbedding }: Shared, isTied: boolean): { readonly [name: string]: string } {
  const table = sharesEmbedding ? 'model.shared.weight' : 'model.decoder.embed_tokens.weight';
  return {
    ...(sharesEmbedding && {
      'model.encoder.embed_tokens.weight': table,
      'model.decoder.embed_tokens.weight': table,
    }),
    ...(isTied && { 'lm_head.weight': table }),
  };
}

function stackSources(stack: Stack, { isMarian, maxLength }: Shared, config: HuggingFaceConfig): Sources {
  const prefix = `model.${stack}`;
  const rows = { slice: { axis: 0, start: bartOffset, size: maxLength } };
  return {
    ...(!isMarian && {
      [`${stack}/position/table`]: { tensor: `${prefix}.embed_positions.weight`, steps: [rows] },
      ...norm(`${stack}/embeddingNorm`, `${prefix}.layernorm_embedding`, 'layer'),
    }),
    ...forEach(config.number(`${stack}_layers`), (layer): Sources => {
      const [ours, theirs] = [`${stack}/block${layer}`, `${prefix}.layers.${layer}`];
      const attention = (name: string, other: string): Sources => ({
        ...linear(`${ours}/${name}/query`, `${theirs}.${other}.q_proj`, true),
        ...linear(`${ours}/${name}/key`, `${theirs}.${other}.k_proj`, true),
        ...linear(`${ours}/${name}/value`, `${theirs}.${other}.v_proj`, true),
        ...linear(`${ours}/${name}/output`, `${theirs}.${other}.out_proj`, true),
        ...norm(`${ours}/${name}Norm`, `${theirs}.${other}_layer_norm`, 'layer'),
      });
      return {
        ...attention('attention', 'self_attn'),
        ...(stack === 'decoder' && attention('crossAttention', 'encoder_attn')),
        ...linear(`${ours}/feedForward/up`, `${theirs}.fc1`, true),
        ...linear(`${ours}/feedForward/down`, `${theirs}.fc2`, true),
        ...norm(`${ours}/feedForwardNorm`, `${theirs}.final_layer_norm`, 'layer'),
      };
    }),
  };
}
