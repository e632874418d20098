// GPT-NeoX (Black et al. 2022, 2204.06745) and Pythia.
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
  transposed,
} from './model-description';
import { lengthOf, type RopeOptions, ropeOptions, rotaryOf } from './rotary-of';

const where = 'configFromHuggingFace';

interface Sizes {
  readonly embedDim: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly useBias: boolean;
}

/** @throws ConfigError for what the family does not know */
export function gptNeox(config: HuggingFaceConfig): ModelDescription {
  const embedDim = config.number('hidden_size');
  const numHeads = config.number('num_attention_heads');
  const numLayers = config.number('num_hidden_layers');
  const useBias = config.flag('attention_bias', true);
  const length = config.number('max_position_embeddings');
  const rope = ropeOf(config);
  const isTied = config.flag('tie_word_embeddings', false);
  const attention = { embedDim, numHeads, useBias, dropout: config.number('attention_dropout', 0) };
  return {
    config: {
      shared: { rotary: rotaryOf(where, rope, { headDim: embedDim / numHeads, maxLength: length }) },
      value: {
        kind: 'Decoder',
        config: {
          vocabularySize: config.number('vocab_size'),
          embedDim,
          numLayers,
          maxLength: lengthOf(rope, length),
          norm: { kind: 'layer', epsilon: config.number('layer_norm_eps', 1e-5) },
          parallel: config.flag('use_parallel_residual', true),
          feedForward: {
            hiddenDim: config.number('intermediate_size'),
            activation: config.activation('hidden_act', 'gelu'),
          },
          head: isTied ? 'tied' : 'own',
          dropout: config.number('hidden_dropout', 0),
        },
        parts: {
          ...fromZero,
          attention: Array.from({ length: numLayers }, (_, layer) => ({
            kind: 'MultiHeadAttention',
            config: attention,
            parts: { ...fromZero, name: `block${layer}/attention`, position: { ref: 'rotary' } },
          })),
        },
      },
    },
    weights: {
      variables: {
        ...sourcesOf({ embedDim, numLayers, numHeads, useBias }),
        ...(!isTied && linear('head', 'embed_out', false)),
      },
      ignored: ['*.attention.bias', '*.attention.masked_bias', '*.rotary_emb.inv_freq'],
      ...(isTied && { tied: { 'embed_out.weight': 'gpt_neox.embed_in.weight' } }),
    },
  };
}

/** Its own names, `rotary_pct` and `rotary_emb_base`, go before those of other families, which may stand beside them. */
function ropeOf(config: HuggingFaceConfig): RopeOptions {
  const { base, partialFactor, scaling } = ropeOptions(config, { base: 10_000 });
  const hasParameters = config.raw('rope_parameters') !== undefined;
  const byDefault =
    config.raw('partial_rotary_factor') === undefined && !hasParameters ? 0.25 : partialFactor;
  return {
    base: config.number('rotary_emb_base', base),
    partialFactor: config.number('rotary_pct', byDefault),
    scaling,
  };
}

function sourcesOf({ embedDim, numLayers, numHeads, useBias }: Sizes): Sources {
  // Head by head its queries, keys and values: [H, 3, D, E].
  const part = (theirs: string, index: number, columns: readonly number[]): WeightSource => ({
    tensor: theirs,
    steps: [
      { reshape: [numHeads, 3, embedDim / numHeads, ...columns] },
      { slice: { axis: 1, start: index, size: 1 } },
      { reshape: [embedDim, ...columns] },
      ...(columns.length > 0 ? [transposed] : []),
    ],
  });
  return {
    'embedding/table': same('gpt_neox.embed_in.weight'),
    ...forEach(numLayers, (layer): Sources => {
      const [ours, theirs] = [`block${layer}`, `gpt_neox.layers.${layer}`];
      const fused = forEach(3, (index): Sources => {
        const name = `${ours}/attention/${['query', 'key', 'value'][index]!}`;
        return {
          [`${name}/kernel`]: part(`${theirs}.attention.query_key_value.weight`, index, [embedDim]),
          ...(useBias && { [`${name}/bias`]: part(`${theirs}.attention.query_key_value.bias`, index, []) }),
        };
      });
      return {
        ...fused,
        ...linear(`${ours}/attention/output`, `${theirs}.attention.dense`, useBias),
        ...norm(`${ours}/attentionNorm`, `${theirs}.input_layernorm`, 'layer'),
        ...norm(`${ours}/feedForwardNorm`, `${theirs}.post_attention_layernorm`, 'layer'),
        ...linear(`${ours}/feedForward/up`, `${theirs}.mlp.dense_h_to_4h`, true),
        ...linear(`${ours}/feedForward/down`, `${theirs}.mlp.dense_4h_to_h`, true),
      };
    }),
    ...norm('finalNorm', 'gpt_neox.final_layer_norm', 'layer'),
  };
}
