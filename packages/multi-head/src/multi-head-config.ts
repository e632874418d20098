// What describes a multi-head layer, and the variables that follow from it.
import { type AttentionConfig, ConfigError, type VariableShapes } from '@polyhead/core';
import { type AttentionSizes, attentionSizes, checkSizes, projectionShapes } from '@polyhead/core/layer';

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
  const { numMemoryKeyValues = 0, addZeroAttention = false } = config;
  if (numMemoryKeyValues !== 0) checkSizes(where, { numMemoryKeyValues });
  if (typeof addZeroAttention !== 'boolean') {
    throw new ConfigError(where, 'addZeroAttention must be true or false', { addZeroAttention });
  }
  return attentionSizes(where, config, { options: ['numMemoryKeyValues', 'addZeroAttention'] });
}

/**
 * Shapes of the variables of a layer, in order, without allocating any.
 *
 * @throws ConfigError as the layer's constructor does
 */
export function variableShapes(config: MultiHeadConfig): VariableShapes {
  const sizes = multiHeadSizes(config);
  const { numHeads, headDim, valueHeadDim } = sizes;
  const { numMemoryKeyValues: M = 0 } = config;
  const memory = { 'memory/key': [M, numHeads * headDim], 'memory/value': [M, numHeads * valueHeadDim] };
  return { ...projectionShapes(sizes), ...(M > 0 && memory) };
}
