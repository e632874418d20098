// T5 (Raffel et al. 2019, 1910.10683), its version 1.1 and mT5.
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
} from './model-description';

/** @throws ConfigError for what the family does not know */
export function t5(config: HuggingFaceConfig): ModelDescription {
  const embedDim = config.number('d_model');
  const layers = config.number('num_layers');
  const decoderLayers = config.number('num_decoder_layers', layers);
  const isTied = config.flag('tie_word_embeddings', true);
  const forward = config.text('feed_forward_proj', 'relu');
  const gated = forward.startsWith('gated-');
  config.ignore('dense_act_fn', 'is_gated_act', 'n_positions');
  config.only('is_encoder_decoder', true);
  const stack = {
    vocabularySize: config.number('vocab_size'),
    embedDim,
    norm: { kind: 'rms', epsilon: config.number('layer_norm_epsilon', 1e-6) },
    feedForward: {
      hiddenDim: config.number('d_ff'),
      activation: activationOf(config, forward),
      gated,
      useBias: false,
    },
    dropout: config.number('dropout_rate', 0.1),
  };
  const { shared, attention } = attentionOf(config, embedDim);
  const embedding = { ref: 'embedding' };
  return {
    config: {
      shared: {
        ...shared,
        embedding: {
          kind: 'Embedding',
          config: { vocabularySize: stack.vocabularySize, embedDim },
          parts: { ...fromZero, name: 'embedding' },
        },
      },
      value: {
        kind: 'EncoderDecoder',
        // T5 begins with its padding token, where the config says nothing.
        config: { startToken: config.number('decoder_start_token_id', config.number('pad_token_id', 0)) },
        parts: {
          encoder: {
            kind: 'Encoder',
            config: { ...stack, numLayers: layers },
            parts: { ...fromZero, name: 'encoder', embedding, attention: attention('encoder', layers) },
          },
          decoder: {
            kind: 'Decoder',
            config: {
              ...stack,
              numLayers: decoderLayers,
              head: isTied ? 'tied' : 'own',
              ...(isTied && { logitScale: embedDim ** -0.5 }),
            },
            parts: {
              ...fromZero,
              name: 'decoder',
              embedding,
              attention: attention('decoder', decoderLayers),
              crossAttention: attention('cross', decoderLayers),
            },
          },
        },
      },
    },
    weights: {
      variables: {
        'embedding/table': same('shared.weight'),
        ...stackSources('encoder', layers, gated),
        ...stackSources('decoder', decoderLayers, gated),
        ...(!isTied && linear('decoder/head', 'lm_head', false)),
      },
      ignored: ['*.EncDecAttention.relative_attention_bias.weight'],
      tied: {
        'encoder.embed_tokens.weight': 'shared.weight',
        'decoder.embed_tokens.weight': 'shared.weight',
        ...(isTied && { 'lm_head.weight': 'shared.weight' }),
      },
    },
  };
}

/** `gated-gelu` means the approximation by tanh. */
function activationOf(config: HuggingFaceConfig, forward: string) {
  if (forward === 'gated-gelu') return 'geluTanh';
  return config.activationNamed('feed_forward_proj', forward.replace('gated-', ''));
}

/** Layers that attend to the encoder have no positions, and products are not scaled there either. */
function attentionOf(config: HuggingFaceConfig, embedDim: number) {
  const numHeads = config.number('num_heads');
  const sizes = {
    embedDim,
    numHeads,
    headDim: config.number('d_kv'),
    dropout: config.number('dropout_rate', 0.1),
  };
  const buckets = {
    numHeads,
    numBuckets: config.number('relative_attention_num_buckets', 32),
    maxDistance: config.number('relative_attention_max_distance', 128),
  };
  const position = (name: string, bidirectional: boolean) => ({
    kind: 't5',
    config: { ...buckets, bidirectional },
    parts: { ...fromZero, name: `${name}/position` },
  });
  const attention = (name: 'encoder' | 'decoder' | 'cross', layers: number): readonly Json[] =>
    Array.from({ length: layers }, (_, layer) =>
      name === 'cross'
        ? {
            kind: 'MultiHeadAttention',
            config: { ...sizes, scale: 1 },
            parts: { ...fromZero, name: `decoder/block${layer}/crossAttention` },
          }
        : {
            kind: 'MultiHeadAttention',
            config: sizes,
            parts: {
              ...fromZero,
              name: `${name}/block${layer}/attention`,
              position: { ref: `${name}-position` },
            },
          },
    );
  return {
    shared: { 'encoder-position': position('encoder', true), 'decoder-position': position('decoder', false) },
    attention,
  };
}

function stackSources(stack: 'encoder' | 'decoder', layers: number, gated: boolean): Sources {
  const isDecoder = stack === 'decoder';
  const bias = `${stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight`;
  return {
    [`${stack}/position/table`]: same(bias),
    ...forEach(layers, (layer): Sources => {
      const [ours, theirs] = [`${stack}/block${layer}`, `${stack}.block.${layer}.layer`];
      const attention = (name: string, other: string): Sources => ({
        ...linear(`${ours}/${name}/query`, `${theirs}.${other}.q`, false),
        ...linear(`${ours}/${name}/key`, `${theirs}.${other}.k`, false),
        ...linear(`${ours}/${name}/value`, `${theirs}.${other}.v`, false),
        ...linear(`${ours}/${name}/output`, `${theirs}.${other}.o`, false),
      });
      const last = `${theirs}.${isDecoder ? 2 : 1}`;
      const forward = `${last}.DenseReluDense`;
      return {
        ...attention('attention', '0.SelfAttention'),
        ...norm(`${ours}/attentionNorm`, `${theirs}.0.layer_norm`, 'rms'),
        ...(isDecoder && {
          ...attention('crossAttention', '1.EncDecAttention'),
          ...norm(`${ours}/crossAttentionNorm`, `${theirs}.1.layer_norm`, 'rms'),
        }),
        ...(gated && linear(`${ours}/feedForward/gate`, `${forward}.wi_0`, false)),
        ...linear(`${ours}/feedForward/up`, `${forward}.${gated ? 'wi_1' : 'wi'}`, false),
        ...linear(`${ours}/feedForward/down`, `${forward}.wo`, false),
        ...norm(`${ours}/feedForwardNorm`, `${last}.layer_norm`, 'rms'),
      };
    }),
    ...norm(`${stack}/finalNorm`, `${stack}.final_layer_norm`, 'rms'),
  };
}
