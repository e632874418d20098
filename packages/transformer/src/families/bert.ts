// BERT (Devlin et al. 2018, 1810.04805) and RoBERTa (Liu et al. 2019, 1907.11692): the encoder, without heads for tasks.
import { ConfigError } from '@polyhead/core';
import type { WeightSource } from '@polyhead/core/layer';
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

interface Sizes {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly numLayers: number;
  readonly maxLength: number;
  /** Rows of the table of positions before that of the first token. */
  readonly offset: number;
  /** `absolute`, or one of `bertRelative`. */
  readonly positions: string;
}

/** @throws ConfigError for what the family does not know */
export function bert(type: 'bert' | 'roberta', config: HuggingFaceConfig): ModelDescription {
  // RoBERTa counts positions from behind the number of its padding token.
  const offset = type === 'roberta' ? config.number('pad_token_id', 1) + 1 : 0;
  const sizes: Sizes = {
    embedDim: config.number('hidden_size'),
    numHeads: config.number('num_attention_heads'),
    numLayers: config.number('num_hidden_layers'),
    maxLength: config.number('max_position_embeddings') - offset,
    offset,
    positions: positionsOf(config),
  };
  const { embedDim, numLayers, maxLength } = sizes;
  const numSegments = config.number('type_vocab_size', 2);
  config.only('is_decoder', false);
  config.only('add_cross_attention', false);
  config.ignore(
    ...['fc_size', 'num_attention_heads', 'num_fc_layers', 'size_per_head', 'type'].map(
      (key) => `pooler_${key}`,
    ),
  );
  config.ignore('tie_word_embeddings');
  const isAbsolute = sizes.positions === 'absolute';
  return {
    config: {
      kind: 'Encoder',
      config: {
        vocabularySize: config.number('vocab_size'),
        embedDim,
        numLayers,
        maxLength,
        norm: { kind: 'layer', epsilon: config.number('layer_norm_eps', 1e-12) },
        normPlacement: 'post',
        embeddingNorm: true,
        numSegments,
        feedForward: {
          hiddenDim: config.number('intermediate_size'),
          activation: config.activation('hidden_act', 'gelu'),
        },
        dropout: config.number('hidden_dropout_prob', 0.1),
      },
      parts: {
        ...fromZero,
        ...(isAbsolute && {
          positions: {
            kind: 'learned',
            config: { embedDim, maxPositions: maxLength },
            parts: { ...fromZero, name: 'position' },
          },
        }),
        attention: attentionOf(sizes, config),
      },
    },
    weights: {
      variables: withOldNames(withPrefixes(sourcesOf(sizes, numSegments), ['', `${type}.`])),
      ignored: [
        ...['pooler.*', 'embeddings.position_ids', 'embeddings.token_type_ids'].flatMap((name) => [
          name,
          `${type}.${name}`,
        ]),
        ...(isAbsolute
          ? []
          : [`${type}.embeddings.position_embeddings.weight`, 'embeddings.position_embeddings.weight']),
        ...['cls.*', 'lm_head.*', 'classifier.*', 'qa_outputs.*'], // heads for tasks
      ],
    },
  };
}

function positionsOf(config: HuggingFaceConfig): string {
  const type = config.text('position_embedding_type', 'absolute');
  const types = ['absolute', 'relative_key', 'relative_key_query'];
  if (types.includes(type)) return type;
  throw new ConfigError(
    'configFromHuggingFace',
    `position_embedding_type must be one of ${types.join(', ')}`,
    {
      position_embedding_type: type,
    },
  );
}

function attentionOf(
  { embedDim, numHeads, numLayers, positions, maxLength, offset }: Sizes,
  config: HuggingFaceConfig,
): readonly Json[] {
  const dropout = config.number('attention_probs_dropout_prob', 0.1);
  const relative = { headDim: embedDim / numHeads, maxPositions: maxLength + offset, type: positions };
  return Array.from({ length: numLayers }, (_, layer) => ({
    kind: 'MultiHeadAttention',
    config: { embedDim, numHeads, useBias: true, dropout },
    parts: {
      ...fromZero,
      name: `block${layer}/attention`,
      ...(positions !== 'absolute' && {
        position: { kind: 'bertRelative', config: relative, parts: fromZero },
      }),
    },
  }));
}

function sourcesOf({ numLayers, offset, maxLength, positions }: Sizes, numSegments: number): Sources {
  const rows = { slice: { axis: 0, start: offset, size: maxLength } };
  return {
    'embedding/table': same('embeddings.word_embeddings.weight'),
    ...(numSegments > 0 && { 'segments/table': same('embeddings.token_type_embeddings.weight') }),
    ...(positions === 'absolute' && {
      'position/table': { tensor: 'embeddings.position_embeddings.weight', steps: [rows] },
    }),
    ...norm('embeddingNorm', 'embeddings.LayerNorm', 'layer'),
    ...forEach(numLayers, (layer): Sources => {
      const [ours, theirs] = [`block${layer}`, `encoder.layer.${layer}`];
      const self = `${theirs}.attention.self`;
      return {
        ...linear(`${ours}/attention/query`, `${self}.query`, true),
        ...linear(`${ours}/attention/key`, `${self}.key`, true),
        ...linear(`${ours}/attention/value`, `${self}.value`, true),
        ...(positions !== 'absolute' && {
          [`${ours}/attention/position/table`]: same(`${self}.distance_embedding.weight`),
        }),
        ...encoderLayer(ours, theirs),
      };
    }),
  };
}

/** The first checkpoints of BERT call the weight of a norm gamma, and its bias beta. */
function withOldNames(sources: Sources): Sources {
  const oldNames = ({ tensor, ...rest }: WeightSource): WeightSource => {
    const names = [tensor].flat();
    const old = names
      .filter((name) => name.includes('LayerNorm.'))
      .map((name) =>
        name.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta'),
      );
    return { tensor: [...names, ...old], ...rest };
  };
  return Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, oldNames(source)]));
}

/** What follows the heads in a layer of BERT, and of DeBERTa. */
export function encoderLayer(ours: string, theirs: string): Sources {
  return {
    ...linear(`${ours}/attention/output`, `${theirs}.attention.output.dense`, true),
    ...norm(`${ours}/attentionNorm`, `${theirs}.attention.output.LayerNorm`, 'layer'),
    ...linear(`${ours}/feedForward/up`, `${theirs}.intermediate.dense`, true),
    ...linear(`${ours}/feedForward/down`, `${theirs}.output.dense`, true),
    ...norm(`${ours}/feedForwardNorm`, `${theirs}.output.LayerNorm`, 'layer'),
  };
}
