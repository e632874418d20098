// What costs follow from: the config of a layer, whichever variant it is of.
import { type AttentionConfig, type CacheShape, ConfigError, type VariableShapes } from '@polyhead/core';
import { type AttentionSizes, attentionSizes, checkSizes, projectionShapes } from '@polyhead/core/layer';

/** The config of any variant with projected heads. */
export interface LayerConfig extends AttentionConfig {
  /** Hkv, key/value heads that query heads share. Default: numHeads. */
  readonly numKeyValueHeads?: number | undefined;
  /** M learned keys and values behind those of the input. Default: 0. */
  readonly numMemoryKeyValues?: number | undefined;
  /** One more key and value of zeros. Default: false. */
  readonly addZeroAttention?: boolean | undefined;
}

export interface LayerSizes extends AttentionSizes {
  /** Learned keys and values of the layer. */
  readonly memory: number;
  /** Keys that every query sees beside those of the input: the learned ones and the zeros. */
  readonly ownKeys: number;
}

const ownOptions = ['numKeyValueHeads', 'numMemoryKeyValues', 'addZeroAttention'];

/** @throws ConfigError for options that cannot be, or that are not known here */
export function layerSizes(where: string, config: LayerConfig): LayerSizes {
  // What is no object at all is refused below, where the options that are known are named.
  const { numKeyValueHeads, numMemoryKeyValues: memory = 0, addZeroAttention = false } = config ?? {};
  const sizes = attentionSizes(where, config, {
    options: ownOptions,
    ...(numKeyValueHeads !== undefined && { numKeyValueHeads }),
  });
  if (memory !== 0) checkSizes(where, { numMemoryKeyValues: memory });
  if (typeof addZeroAttention !== 'boolean') {
    throw new ConfigError(where, 'addZeroAttention must be true or false', { addZeroAttention });
  }
  return { ...sizes, memory, ownKeys: memory + Number(addZeroAttention) };
}

/** Shapes of all variables of a layer of these sizes, as the `variableShapes` of its variant gives them. */
export function layerVariables(sizes: LayerSizes): VariableShapes {
  const { memory, numKeyValueHeads, headDim, valueHeadDim } = sizes;
  return {
    ...projectionShapes(sizes),
    ...(memory > 0 && {
      'memory/key': [memory, numKeyValueHeads * headDim],
      'memory/value': [memory, numKeyValueHeads * valueHeadDim],
    }),
  };
}

/**
 * What a cache must hold for a layer of this config, as the layer's own `cacheShape` says, without making one.
 *
 * @throws ConfigError for options that cannot be
 */
export function cacheShape(config: LayerConfig, batch = 1): CacheShape {
  const where = 'cacheShape';
  const { numKeyValueHeads: heads, headDim: keySize, valueHeadDim: valueSize } = layerSizes(where, config);
  checkSizes(where, { batch });
  return { batch, heads, keySize, valueSize };
}
