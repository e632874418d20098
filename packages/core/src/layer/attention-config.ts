// What describes any layer with projected heads, and the sizes and variables that follow from it.
import { checkNumber, checkRate, checkSizes, checkSoftcap } from '../checks/check-config';
import { checkScale } from '../checks/check-options';
import { normalizeOptions } from '../checks/normalize-options';
import { ConfigError } from '../contract/errors';
import type { QueryKeyNorm } from './normalize';
import type { VariableShapes } from './weights';

/** Plain JSON: it rebuilds a layer, but for its weights. A variant adds its own options. */
export interface AttentionConfig {
  /** E, the width of queries and, if not said otherwise, of keys, values and output. */
  readonly embedDim: number;
  /** Hq, the number of query heads. */
  readonly numHeads: number;
  /** D, the size of a query and key head. Default: E / Hq, which must be whole. */
  readonly headDim?: number;
  /** Dv, the size of a value head. Default: D. */
  readonly valueHeadDim?: number;
  /** Width of keys. Default: E. */
  readonly keyEmbedDim?: number;
  /** Width of values. Default: that of keys. */
  readonly valueEmbedDim?: number;
  /** Width of the output. Default: E. */
  readonly outputDim?: number;
  /** A bias after each of the four projections. Default: false. */
  readonly useBias?: boolean;
  /** Rate at which weights are dropped in training: at least 0, below 1. Default: 0. */
  readonly dropout?: number;
  /** What products of queries and keys are multiplied by. Default: 1 / sqrt(D). */
  readonly scale?: number;
  /** Scores are capped at ±softcap by tanh. Default: 0, off. */
  readonly softcap?: number;
  /** Normalizes queries and keys before positions rotate them. Default: not at all. */
  readonly queryKeyNorm?: QueryKeyNorm;
  /** A learned logit for each query head, which takes its share of every row and adds nothing. Default: false. */
  readonly learnedSinks?: boolean;
  /**
   * Multiplies the heads' outputs by sigmoid(query gate), one gate for each number or one for each head (Qiu et al.
   * 2025, 2505.06708). Default: no gate.
   */
  readonly outputGate?: 'number' | 'head';
  /** Same config, same start. Without it each layer starts differently. */
  readonly seed?: number;
}

/** A config with its defaults filled in. */
export interface AttentionSizes {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly numKeyValueHeads: number;
  readonly headDim: number;
  readonly valueHeadDim: number;
  readonly keyEmbedDim: number;
  readonly valueEmbedDim: number;
  readonly outputDim: number;
  readonly useBias: boolean;
  readonly queryKeyNorm?: QueryKeyNorm;
  readonly learnedSinks: boolean;
  readonly outputGate?: 'number' | 'head';
}

const sharedOptions: readonly (keyof AttentionConfig)[] = [
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
  'queryKeyNorm',
  'learnedSinks',
  'outputGate',
  'seed',
];

/**
 * The sizes of a layer.
 *
 * @param own what a variant adds: the names of its options, and its number of key/value heads, by default numHeads
 * @throws ConfigError for options that cannot be; it names them
 */
export function attentionSizes(
  where: string,
  config: AttentionConfig,
  own: { readonly options?: readonly string[]; readonly numKeyValueHeads?: number } = {},
): AttentionSizes {
  const asked = normalizeOptions(where, 'config', config, [
    ...sharedOptions,
    ...(own.options ?? []),
  ] as typeof sharedOptions);
  const { embedDim, numHeads, useBias = false } = asked as AttentionConfig;
  const { numKeyValueHeads = numHeads } = own;
  checkSizes(where, { embedDim, numHeads, numKeyValueHeads });
  if (numHeads % numKeyValueHeads !== 0) {
    throw new ConfigError(where, 'numHeads must be a multiple of numKeyValueHeads', {
      numHeads,
      numKeyValueHeads,
    });
  }
  if (asked.headDim === undefined && embedDim % numHeads !== 0) {
    throw new ConfigError(where, 'embedDim must divide by numHeads, or headDim must be given', {
      embedDim,
      numHeads,
    });
  }
  const { headDim = embedDim / numHeads, keyEmbedDim = embedDim, outputDim = embedDim } = asked;
  const { valueHeadDim = headDim, valueEmbedDim = keyEmbedDim } = asked;
  const sizes = { headDim, valueHeadDim, keyEmbedDim, valueEmbedDim, outputDim };
  checkSizes(where, sizes);
  checkScores(where, asked);
  checkExtras(where, asked);
  const { queryKeyNorm, learnedSinks = false, outputGate } = asked;
  return {
    embedDim,
    numHeads,
    numKeyValueHeads,
    ...sizes,
    useBias,
    learnedSinks,
    ...(queryKeyNorm && { queryKeyNorm }),
    ...(outputGate && { outputGate }),
  };
}

function checkScores(where: string, { dropout, scale, softcap, seed }: Partial<AttentionConfig>): void {
  if (dropout !== undefined) checkRate(where, 'dropout', dropout);
  if (softcap !== undefined) checkSoftcap(where, softcap);
  if (scale !== undefined) checkScale(where, scale);
  if (seed !== undefined) checkNumber(where, 'seed', seed, [Number.isInteger, 'a whole number']);
}

function checkExtras(where: string, config: Partial<AttentionConfig>): void {
  const { queryKeyNorm, outputGate, useBias, learnedSinks } = config;
  for (const [name, flag] of Object.entries({ useBias, learnedSinks })) {
    if (flag === undefined || typeof flag === 'boolean') continue;
    throw new ConfigError(where, `${name} must be true or false`, { [name]: flag });
  }
  checkOneOf(where, 'outputGate', outputGate, ['number', 'head']);
  if (queryKeyNorm === undefined) return;
  const {
    kind,
    epsilon = 0,
    over,
  } = normalizeOptions(where, 'queryKeyNorm', queryKeyNorm, ['kind', 'epsilon', 'over']);
  checkOneOf(where, 'queryKeyNorm.kind', kind ?? 'none', ['rms', 'layer', 'l2']);
  checkOneOf(where, 'queryKeyNorm.over', over, ['head', 'all']);
  checkNumber(where, 'queryKeyNorm.epsilon', epsilon, [(e) => e >= 0, 'a number of at least 0']);
}

function checkOneOf(where: string, name: string, value: string | undefined, known: readonly string[]): void {
  if (value === undefined || known.includes(value)) return;
  throw new ConfigError(where, `${name} must be one of ${known.join(', ')}`, { [name]: value });
}

/**
 * Shapes of the projections, [in, out] and, with `useBias`, [out]; then of gains, offsets and sinks where the config has
 * them.
 */
export function projectionShapes(sizes: AttentionSizes): VariableShapes {
  const { numHeads, numKeyValueHeads, headDim, valueHeadDim } = sizes;
  const { outputGate } = sizes;
  const gates = { number: numHeads * valueHeadDim, head: numHeads };
  const projections: Record<string, readonly [number, number]> = {
    query: [sizes.embedDim, numHeads * headDim],
    key: [sizes.keyEmbedDim, numKeyValueHeads * headDim],
    value: [sizes.valueEmbedDim, numKeyValueHeads * valueHeadDim],
    output: [numHeads * valueHeadDim, sizes.outputDim],
    ...(outputGate && { gate: [sizes.embedDim, gates[outputGate]] as const }),
  };
  const shapes: Record<string, readonly number[]> = {};
  for (const [name, shape] of Object.entries(projections)) {
    shapes[`${name}/kernel`] = shape;
    if (sizes.useBias) shapes[`${name}/bias`] = [shape[1]];
  }
  return { ...shapes, ...normShapes(sizes), ...(sizes.learnedSinks && { 'sinks/logits': [numHeads] }) };
}

function normShapes({ queryKeyNorm: norm, headDim, ...sizes }: AttentionSizes): VariableShapes {
  if (!norm || norm.kind === 'l2') return {};
  const width = (heads: number) => [norm.over === 'all' ? heads * headDim : headDim];
  const [query, key] = [width(sizes.numHeads), width(sizes.numKeyValueHeads)];
  const offsets = { 'query/offset': query, 'key/offset': key };
  return { 'query/gain': query, 'key/gain': key, ...(norm.kind === 'layer' && offsets) };
}
