// What describes a multi-head layer, and the variables that follow from it.
import type { AttentionConfig, VariableShapes } from '@polyhead/core';
import {
  type AttentionSizes,
  attentionSizes,
  checkFlag,
  checkSizes,
  projectionShapes,
} from '@polyhead/core/layer';

export interface MultiHeadConfig extends AttentionConfig {
  /** M learned keys and values behind those of the input, which every query sees: 1 is PyTorch's `bias_k`, `bias_v`. */
  readonly numMemoryKeyValues?: number | undefined;
  /** One more key and value of zeros behind all others: PyTorch's `add_zero_attn`. */
  readonly addZeroAttention?: boolean | undefined;
}

/** The variant's name, for errors. */
export const where = 'MultiHeadAttention';

/** @throws ConfigError for options that cannot be; it names them */
export function multiHeadSizes(config: MultiHeadConfig): AttentionSizes {
  const sizes = attentionSizes(where, config, { options: ['numMemoryKeyValues', 'addZeroAttention'] });
  const { addZeroAttention } = config;
  const numMemoryKeyValues = config.numMemoryKeyValues ?? 0;
  checkFlag(where, 'addZeroAttention', addZeroAttention);
  if (numMemoryKeyValues !== 0) checkSizes(where, { numMemoryKeyValues });
  return sizes;
}

/**
 * Shapes of the variables of a layer, in order, without allocating any.
 *
 * @throws ConfigError as the layer's constructor does
 */
export function variableShapes(config: MultiHeadConfig): VariableShapes {
  const sizes = multiHeadSizes(config);
  const { numHeads, headDim, valueHeadDim } = sizes;
  const M = config.numMemoryKeyValues ?? 0;
  const memory = { 'memory/key': [M, numHeads * headDim], 'memory/value': [M, numHeads * valueHeadDim] };
  return { ...projectionShapes(sizes), ...(M > 0 && memory) };
}
