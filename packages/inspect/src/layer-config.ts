// What costs follow from: the config of a layer, whichever variant it is of.
import { type AttentionConfig, type CacheShape, ConfigError, type VariableShapes } from '@polyhead/core';
import {
  type AttentionSizes,
  attentionSizes,
  checkFlag,
  checkSizes,
  projectionShapes,
} from '@polyhead/core/layer';

/** The config of any variant with projected heads. */
export interface LayerConfig extends AttentionConfig {
  /** Hkv, key/value heads that query heads share. Default: numHeads. */
  readonly numKeyValueHeads?: number | undefined;
  /** M learned keys and values behind those of the input, which are counted by the variant's `variableShapes`. Default: 0. */
  readonly numMemoryKeyValues?: number | undefined;
  /** One more key and value of zeros. Default: false. */
  readonly addZeroAttention?: boolean | undefined;
}

/** The `variableShapes` that a package of a variant exports: shapes of all variables of a layer of a config. */
export type ShapesOfVariant = (config: never) => VariableShapes;

export interface LayerSizes extends AttentionSizes {
  /** Of all variables. */
  readonly variables: VariableShapes;
  /** Keys that every query sees beside those of the input: learned ones, and one of zeros. */
  readonly ownKeys: number;
}

const ownOptions = ['numKeyValueHeads', 'numMemoryKeyValues', 'addZeroAttention'];

/**
 * @param variableShapes judges the config, and says which variables there are; without it these are the projections
 * @throws ConfigError for options that cannot be, or that are not known here
 */
export function layerSizes(
  where: string,
  config: LayerConfig,
  variableShapes: ShapesOfVariant | undefined,
): LayerSizes {
  const ofVariant = variableShapes?.(config as never);
  const sizes = sizesOf(where, config, ofVariant ? Object.keys(config) : ownOptions);
  const { numMemoryKeyValues, addZeroAttention } = config;
  if (!ofVariant && numMemoryKeyValues) {
    throw new ConfigError(where, 'memory keys are variables of a variant: pass its variableShapes', {
      numMemoryKeyValues,
    });
  }
  const variables = ofVariant ?? projectionShapes(sizes);
  const memory = variables['memory/key']?.[0] ?? 0;
  return { ...sizes, variables, ownKeys: memory + Number(addZeroAttention === true) };
}

function sizesOf(where: string, config: LayerConfig, options: readonly string[]): AttentionSizes {
  // What is no object at all is refused below, where the options that are known are named.
  const { numKeyValueHeads, numMemoryKeyValues, addZeroAttention } = config ?? {};
  checkFlag(where, 'addZeroAttention', addZeroAttention);
  if ((numMemoryKeyValues ?? 0) !== 0) checkSizes(where, { numMemoryKeyValues: numMemoryKeyValues! });
  const isShared = (numKeyValueHeads ?? undefined) !== undefined;
  return attentionSizes(where, config, { options, ...(isShared && { numKeyValueHeads: numKeyValueHeads! }) });
}

/**
 * What a cache must hold for a layer of this config, as the layer's own `cacheShape` says, without making one.
 *
 * @throws ConfigError for options that cannot be
 */
export function cacheShape(config: LayerConfig, batch = 1): CacheShape {
  const where = 'cacheShape';
  const sizes = sizesOf(where, config, ownOptions);
  const { numKeyValueHeads: heads, headDim: keySize, valueHeadDim: valueSize } = sizes;
  checkSizes(where, { batch });
  return { batch, heads, keySize, valueSize };
}
