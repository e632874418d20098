// DeBERTa, versions 2 and 3 (He et al. 2020, 2006.03654; 2021, 2111.09543): the encoder, without heads for tasks.
import { ConfigError } from '@polyhead/core';
import { encoderLayer } from './bert';
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

const where = 'configFromHuggingFace';

interface Sizes {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly headDim: number;
  readonly numLayers: number;
  readonly maxLength: number;
  readonly epsilon: number;
}

/** Disentangled attention, in the words of `deberta` of @polyhead/relative-position. */
interface Relative {
  readonly distances: Json;
  readonly terms: readonly string[];
  readonly projections: 'own' | 'layer';
  readonly isNormalized: boolean;
}

/** @throws ConfigError for what the family does not know */
export function deberta(config: HuggingFaceConfig): ModelDescription {
  const sizes = sizesOf(config);
  const { embedDim, numLayers, epsilon, maxLength } = sizes;
  const numSegments = config.number('type_vocab_size', 0);
  const hasPositions = config.flag('position_biased_input', true);
  const relative = relativeOf(sizes, config);
  config.only('embedding_size', embedDim);
  config.only('conv_kernel_size', 0);
  config.ignore(
    'conv_act',
    'conv_groups',
    'legacy',
    'pooler_dropout',
    'pooler_hidden_act',
    'pooler_hidden_size',
    'summary_type',
  );
  config.ignore('tie_word_embeddings');
  return {
    config: {
      shared: relative ? { distances: distancesOf(sizes, relative) } : {},
      value: {
        kind: 'Encoder',
        config: {
          vocabularySize: config.number('vocab_size'),
          embedDim,
          numLayers,
          maxLength: hasPositions ? maxLength : undefined,
          norm: { kind: 'layer', epsilon },
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
          ...(hasPositions && {
            positions: {
              kind: 'learned',
              config: { embedDim, maxPositions: maxLength },
              parts: { ...fromZero, name: 'position' },
            },
          }),
          attention: attentionOf(sizes, relative, config),
        },
      },
    },
    weights: {
      variables: withPrefixes(sourcesOf(sizes, relative, { numSegments, hasPositions }), ['', 'deberta.']),
      ignored: [
        '*embeddings.position_ids',
        ...(hasPositions ? [] : ['*embeddings.position_embeddings.weight']),
        ...(relative ? [] : ['*encoder.LayerNorm.*']), // of distances, which nothing reads
        ...heads,
      ],
    },
  };
}

/** Heads for tasks: their tensors are not read. */
const heads = ['pooler.*', 'classifier.*', 'cls.*', 'lm_predictions.*', 'mask_predictions.*'];

function sizesOf(config: HuggingFaceConfig): Sizes {
  const embedDim = config.number('hidden_size');
  const numHeads = config.number('num_attention_heads');
  return {
    embedDim,
    numHeads,
    headDim: config.number('attention_head_size', embedDim / numHeads),
    numLayers: config.number('num_hidden_layers'),
    maxLength: config.number('max_position_embeddings'),
    epsilon: config.number('layer_norm_eps', 1e-7),
  };
}

const termNames: Readonly<Record<string, string>> = { c2p: 'contentToPosition', p2c: 'positionToContent' };

function relativeOf({ maxLength, embedDim }: Sizes, config: HuggingFaceConfig): Relative | undefined {
  const isRelative = config.flag('relative_attention', false);
  const projections = config.flag('share_att_key', false) ? 'layer' : 'own';
  const maxDistance = config.number('max_relative_positions', -1);
  const buckets = config.number('position_buckets', -1);
  const norms = config.text('norm_rel_ebd', 'none');
  const types = config.raw('pos_att_type') ?? [];
  const names = typeof types === 'string' ? types.split('|') : (types as readonly string[]);
  if (!isRelative) return undefined;
  if (!['none', 'layer_norm'].includes(norms))
    throw new ConfigError(where, 'norm_rel_ebd must be none or layer_norm', { norm_rel_ebd: norms });
  if (names.length === 0 || !names.every((name) => Object.hasOwn(termNames, name)))
    throw new ConfigError(where, 'pos_att_type must name c2p, p2c or both', { pos_att_type: types });
  const distances = {
    embedDim,
    maxDistance: maxDistance < 1 ? maxLength : maxDistance,
    ...(buckets > 0 && { buckets }),
  };
  const terms = names.map((name) => termNames[name]!);
  return { distances, terms, projections, isNormalized: norms === 'layer_norm' };
}

/** The embeddings of distances, which all layers share. */
function distancesOf({ epsilon }: Sizes, { distances, isNormalized }: Relative): Json {
  return {
    kind: 'debertaEmbeddings',
    config: { ...distances, ...(isNormalized && { normEpsilon: epsilon }) },
    parts: { ...fromZero, name: 'distances' },
  };
}

function attentionOf(
  { embedDim, numHeads, headDim, numLayers }: Sizes,
  relative: Relative | undefined,
  config: HuggingFaceConfig,
): readonly Json[] {
  const dropout = config.number('attention_probs_dropout_prob', 0.1);
  const positionOf = (layer: number) =>
    relative && {
      kind: 'deberta',
      config: {
        ...relative.distances,
        numHeads,
        headDim,
        terms: relative.terms,
        projections: relative.projections,
      },
      parts: {
        ...(relative.projections === 'own' && { ...fromZero, name: `block${layer}/attention/position` }),
        embeddings: { ref: 'distances' },
      },
    };
  return Array.from({ length: numLayers }, (_, layer) => ({
    kind: 'MultiHeadAttention',
    config: { embedDim, numHeads, headDim, useBias: true, dropout },
    parts: { ...fromZero, name: `block${layer}/attention`, position: positionOf(layer) },
  }));
}

function relativeSources({ isNormalized }: Relative): Sources {
  return {
    'distances/embeddings': same('encoder.rel_embeddings.weight'),
    ...(isNormalized && norm('distances', 'encoder.LayerNorm', 'layer')),
  };
}

function sourcesOf(
  { numLayers }: Sizes,
  relative: Relative | undefined,
  { numSegments, hasPositions }: { readonly numSegments: number; readonly hasPositions: boolean },
): Sources {
  const isOwn = relative?.projections === 'own';
  return {
    'embedding/table': same('embeddings.word_embeddings.weight'),
    ...(numSegments > 0 && { 'segments/table': same('embeddings.token_type_embeddings.weight') }),
    ...(hasPositions && { 'position/table': same('embeddings.position_embeddings.weight') }),
    ...norm('embeddingNorm', 'embeddings.LayerNorm', 'layer'),
    ...(relative && relativeSources(relative)),
    ...forEach(numLayers, (layer): Sources => {
      const [ours, self] = [`block${layer}/attention`, `encoder.layer.${layer}.attention.self`];
      return {
        ...linear(`${ours}/query`, `${self}.query_proj`, true),
        ...linear(`${ours}/key`, `${self}.key_proj`, true),
        ...linear(`${ours}/value`, `${self}.value_proj`, true),
        ...(isOwn &&
          relative.terms.includes('contentToPosition') &&
          linear(`${ours}/position/key`, `${self}.pos_key_proj`, true)),
        ...(isOwn &&
          relative.terms.includes('positionToContent') &&
          linear(`${ours}/position/query`, `${self}.pos_query_proj`, true)),
        ...encoderLayer(`block${layer}`, `encoder.layer.${layer}`),
      };
    }),
  };
}
