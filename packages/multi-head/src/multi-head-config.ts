// What describes a multi-head layer, and the sizes and variables that follow from it.
import {
  ConfigError,
  checkKnownOptions,
  checkNumber,
  checkRate,
  checkSizes,
  checkSoftcap,
  type Initialiser,
  type LayerParts,
  type VariableShapes,
} from '@polyhead/core';

/** Plain JSON: it rebuilds the layer, but for its weights. */
export interface MultiHeadConfig {
  /** E, the width of queries and, if not said otherwise, of keys, values and output. */
  readonly embedDim: number;
  readonly numHeads: number;
  /** D, the size of a query and key head. Default: E / H, which must be whole. */
  readonly headDim?: number;
  /** Dv, the size of a value head. Default: D. */
  readonly valueHeadDim?: number;
  readonly keyEmbedDim?: number;
  /** Default: keyEmbedDim. */
  readonly valueEmbedDim?: number;
  readonly outputDim?: number;
  /** A bias after each of the four projections. Default: false. */
  readonly useBias?: boolean;
  /** Rate at which weights are dropped in training: at least 0, below 1. Default: 0. */
  readonly dropout?: number;
  /** Default: 1 / sqrt(D). */
  readonly scale?: number;
  /** Scores are capped at ±softcap by tanh. Default: 0, off. */
  readonly softcap?: number;
  /** Same config, same start. Without it each layer starts differently. */
  readonly seed?: number;
  /** Learned keys and values behind those of the input, which every query sees: 1 is PyTorch's `bias_k`, `bias_v`. */
  readonly numMemoryKeyValues?: number;
  /** One more key and value of zeros behind all others: PyTorch's `add_zero_attn`. */
  readonly addZeroAttention?: boolean;
}

export interface MultiHeadParts extends LayerParts {
  /** First numbers of the kernels. Default: Glorot uniform. */
  readonly initialiser?: Initialiser;
}

/** A config with its defaults filled in. */
export type MultiHeadSizes = Required<Omit<MultiHeadConfig, 'scale' | 'seed'>>;

const where = 'MultiHeadAttention';
const optionNames: readonly (keyof MultiHeadConfig)[] = [
  'embedDim',
  'numHeads',
  'headDim',
  'valueHeadDim',
  'keyEmbedDim',
  'valueEmbedDim',
  'outputDim',
  'useBias',
  'dropout',
  'scale',
  'softcap',
  'seed',
  'numMemoryKeyValues',
  'addZeroAttention',
];

/** @throws ConfigError for options that cannot be; it names them */
export function multiHeadSizes(config: MultiHeadConfig): MultiHeadSizes {
  checkKnownOptions(where, config, optionNames);
  const { embedDim, numHeads, useBias = false, dropout = 0, softcap = 0, addZeroAttention = false } = config;
  checkSizes(where, { embedDim, numHeads });
  if (config.headDim === undefined && embedDim % numHeads !== 0) {
    throw new ConfigError(where, 'embedDim must divide by numHeads, or headDim must be given', {
      embedDim,
      numHeads,
    });
  }
  const { headDim = embedDim / numHeads, keyEmbedDim = embedDim, numMemoryKeyValues = 0 } = config;
  const { valueHeadDim = headDim, valueEmbedDim = keyEmbedDim, outputDim = embedDim } = config;
  const sizes = { headDim, valueHeadDim, keyEmbedDim, valueEmbedDim, outputDim };
  checkSizes(where, sizes);
  if (numMemoryKeyValues !== 0) checkSizes(where, { numMemoryKeyValues });
  checkRate(where, 'dropout', dropout);
  checkSoftcap(where, softcap);
  if (config.scale !== undefined) checkNumber(where, 'scale', config.scale, [() => true, 'a finite number']);
  if (config.seed !== undefined)
    checkNumber(where, 'seed', config.seed, [Number.isInteger, 'a whole number']);
  return { embedDim, numHeads, useBias, dropout, softcap, addZeroAttention, numMemoryKeyValues, ...sizes };
}

/**
 * Shapes of the variables of a layer, in order, without allocating any.
 *
 * @throws ConfigError as the layer's constructor does
 */
export function variableShapes(config: MultiHeadConfig): VariableShapes {
  const sizes = multiHeadSizes(config);
  const { embedDim, keyEmbedDim, valueEmbedDim, outputDim, numHeads, headDim, valueHeadDim } = sizes;
  const [keyWidth, valueWidth] = [numHeads * headDim, numHeads * valueHeadDim];
  const projection = (name: string, inputs: number, outputs: number): [string, number[]][] => [
    [`${name}/kernel`, [inputs, outputs]],
    ...(sizes.useBias ? [[`${name}/bias`, [outputs]] as [string, number[]]] : []),
  ];
  const M = sizes.numMemoryKeyValues;
  return Object.fromEntries([
    ...projection('query', embedDim, keyWidth),
    ...projection('key', keyEmbedDim, keyWidth),
    ...projection('value', valueEmbedDim, valueWidth),
    ...projection('output', valueWidth, outputDim),
    ...(M > 0
      ? [
          ['memory/key', [M, keyWidth]],
          ['memory/value', [M, valueWidth]],
        ]
      : []),
  ]);
}
