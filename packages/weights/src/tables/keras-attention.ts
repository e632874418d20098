// Where Keras' MultiHeadAttention and GroupQueryAttention keep the variables of a layer.
import { type AttentionConfig, ConfigError } from '@polyhead/core';
import type { WeightTable } from '@polyhead/core/layer';
import { placeTable, type TablePlace } from './place-table';

const projections = ['query', 'key', 'value', 'output'] as const;

/**
 * The table of one `keras.layers.MultiHeadAttention` or `GroupQueryAttention`. Heads are an axis of their own there: kernels
 * [E, H, D], that of the output [H, Dv, E], biases [H, D]. Numbers lie as they do here.
 *
 * @param config of the layer that is loaded
 * @param place where it stands in a model and in a checkpoint; names are such as "query/kernel" and "attention_output/bias"
 * @throws ConfigError for a config that Keras' layers cannot have
 */
export function kerasAttention(config: AttentionConfig, place: TablePlace = {}): WeightTable {
  const {
    embedDim: E,
    keyEmbedDim = E,
    valueEmbedDim = keyEmbedDim,
    outputDim = E,
    useBias = false,
  } = config;
  const { queryKeyNorm, learnedSinks, outputGate } = config;
  const extras = { queryKeyNorm, learnedSinks, outputGate };
  if (typeof useBias !== 'boolean' || Object.values(extras).some((extra) => extra))
    throw new ConfigError('kerasAttention', 'the config must be one that the layers of Keras can have', {
      useBias,
      ...extras,
    });
  const shapes = {
    query: [E, -1],
    key: [keyEmbedDim, -1],
    value: [valueEmbedDim, -1],
    output: [-1, outputDim],
  };
  const sources = projections.flatMap((name) => {
    const there = name === 'output' ? 'attention_output' : name;
    const kernel = { tensor: `${there}/kernel`, steps: [{ reshape: shapes[name] }] };
    const bias = { tensor: `${there}/bias`, steps: [{ reshape: [-1] }] };
    return [[`${name}/kernel`, kernel] as const, ...(useBias ? [[`${name}/bias`, bias] as const] : [])];
  });
  return placeTable(Object.fromEntries(sources), place);
}
