// Where nn.MultiheadAttention of PyTorch keeps the variables of a multi-head layer.
import { type AttentionConfig, ConfigError } from '@polyhead/core';
import type { WeightStep, WeightTable } from '@polyhead/core/layer';
import { placeTable, type TablePlace } from './place-table';

/** The config of a `MultiHeadAttention`. */
export interface MultiHeadSizes extends AttentionConfig {
  /** 1 for a layer with `add_bias_kv`. Default: 0. */
  readonly numMemoryKeyValues?: number | undefined;
}

type Sources = Parameters<typeof placeTable>[0];

const toInOut: WeightStep = { transpose: [1, 0] };

/**
 * The table of one `nn.MultiheadAttention`, whose matrices are [out, in]. Where keys and values are as wide as queries, the three
 * projections lie in `in_proj_weight` [3 · E, E]; otherwise each has a matrix of its own. Biases always lie in `in_proj_bias`.
 *
 * @param config of the layer that is loaded
 * @param place where it stands in a model and in a checkpoint
 * @throws ConfigError for a config that PyTorch's layer cannot have
 */
export function torchMultiHead(config: MultiHeadSizes, place: TablePlace = {}): WeightTable {
  checkConfig(config);
  const { embedDim: E, keyEmbedDim = E, valueEmbedDim = keyEmbedDim, useBias, numMemoryKeyValues } = config;
  const isPacked = keyEmbedDim === E && valueEmbedDim === E;
  const third = (n: number): WeightStep => ({ slice: { axis: 0, start: n * E, size: E } });
  const kernel = (name: string, n: number) =>
    isPacked
      ? { tensor: 'in_proj_weight', steps: [third(n), toInOut] }
      : { tensor: `${name}_proj_weight`, steps: [toInOut] };
  const kernels: Sources = {
    'query/kernel': kernel('q', 0),
    'key/kernel': kernel('k', 1),
    'value/kernel': kernel('v', 2),
    'output/kernel': { tensor: 'out_proj.weight', steps: [toInOut] },
  };
  const biases: Sources = {
    'query/bias': { tensor: 'in_proj_bias', steps: [third(0)] },
    'key/bias': { tensor: 'in_proj_bias', steps: [third(1)] },
    'value/bias': { tensor: 'in_proj_bias', steps: [third(2)] },
    'output/bias': { tensor: 'out_proj.bias' },
  };
  const memory: Sources = {
    'memory/key': { tensor: 'bias_k', steps: [{ reshape: [1, E] }] }, // [1, 1, E] there
    'memory/value': { tensor: 'bias_v', steps: [{ reshape: [1, E] }] },
  };
  return placeTable({ ...kernels, ...(useBias && biases), ...(numMemoryKeyValues && memory) }, place);
}

function checkConfig(config: MultiHeadSizes): void {
  const { embedDim: E, numHeads: H, headDim = E / H, valueHeadDim = headDim, outputDim = E } = config;
  const { useBias = false, numMemoryKeyValues = 0, queryKeyNorm, learnedSinks, outputGate } = config;
  const extras = { queryKeyNorm, learnedSinks, outputGate };
  const isTorchs =
    headDim * H === E &&
    valueHeadDim * H === E &&
    outputDim === E &&
    typeof useBias === 'boolean' &&
    numMemoryKeyValues <= 1 &&
    Object.values(extras).every((extra) => !extra);
  if (isTorchs) return;
  throw new ConfigError('torchMultiHead', 'the config must be one that nn.MultiheadAttention can have', {
    embedDim: E,
    numHeads: H,
    headDim,
    valueHeadDim,
    outputDim,
    useBias,
    numMemoryKeyValues,
    ...extras,
  });
}
