// What describes any layer with projected heads, and the sizes and variables that follow from it.
import {
  checkFlag,
  checkNumber,
  checkOneOf,
  checkRate,
  checkSizes,
  checkSoftcap,
} from '../checks/check-config';
import { checkScale } from '../checks/check-options';
import { normalizeOptions } from '../checks/normalize-options';
import { ConfigError } from '../contract/errors';
import type { QueryKeyNorm } from './normalize';
import type { VariableShapes } from './weights';

/** The linear maps of a layer. */
export type Projection = 'query' | 'key' | 'value' | 'output' | 'gate';

const projectionNames: readonly Projection[] = ['query', 'key', 'value', 'output', 'gate'];

/** Plain JSON: it rebuilds a layer, but for its weights. A variant adds its own options. */
export interface AttentionConfig {
  /** E, the width of queries and, if not said otherwise, of keys, values and output. */
  readonly embedDim: number;
  /** Hq, the number of query heads. */
  readonly numHeads: number;
  /** D, the size of a query and key head. Default: E / Hq, which must be whole. */
  readonly headDim?: number | undefined;
  /** Dv, the size of a value head. Default: D. */
  readonly valueHeadDim?: number | undefined;
  /** Width of keys. Default: E. */
  readonly keyEmbedDim?: number | undefined;
  /** Width of values. Default: that of keys. */
  readonly valueEmbedDim?: number | undefined;
  /** Width of the output. Default: E. */
  readonly outputDim?: number | undefined;
  /** A bias after each projection, or after those listed: Qwen2 has `['query', 'key', 'value']`. Default: false, none. */
  readonly useBias?: boolean | readonly Projection[] | undefined;
  /** Rate at which weights are dropped in training: at least 0, below 1. Default: 0. */
  readonly dropout?: number | undefined;
  /** What products of queries and keys are multiplied by. Default: 1 / sqrt(D). */
  readonly scale?: number | undefined;
  /** Scores are capped at ±softcap by tanh. Default: 0, off. */
  readonly softcap?: number | undefined;
  /** Normalizes queries and keys before positions rotate them. Default: not at all. */
  readonly queryKeyNorm?: QueryKeyNorm | undefined;
  /** A learned logit for each query head, which takes its share of every row and adds nothing. Default: false. */
  readonly learnedSinks?: boolean | undefined;
  /**
   * Multiplies the heads' outputs by sigmoid(query gate), one gate for each number or one for each head (Qiu et al.
   * 2025, 2505.06708). Default: no gate.
   */
  readonly outputGate?: 'number' | 'head' | undefined;
  /** Same config, same start. Without it each layer starts differently. */
  readonly seed?: number | undefined;
}

/** A config with its defaults filled in. */
export interface AttentionSizes {
  /** E */
  readonly embedDim: number;
  /** Hq */
  readonly numHeads: number;
  /** Hkv */
  readonly numKeyValueHeads: number;
  /** D */
  readonly headDim: number;
  /** Dv */
  readonly valueHeadDim: number;
  /** Width of keys. */
  readonly keyEmbedDim: number;
  /** Width of values. */
  readonly valueEmbedDim: number;
  /** Width of the output. */
  readonly outputDim: number;
  /** The projections that have a bias. */
  readonly biases: readonly Projection[];
  /** Absent: queries and keys are not normalized. */
  readonly queryKeyNorm?: QueryKeyNorm;
  /** A learned logit for each query head. */
  readonly learnedSinks: boolean;
  /** Absent: no gate. */
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
  const names = [...sharedOptions, ...(own.options ?? [])] as typeof sharedOptions;
  const known = normalizeOptions(where, 'config', config, names);
  const { embedDim, numHeads } = known as AttentionConfig;
  const { numKeyValueHeads = numHeads } = own;
  checkSizes(where, { embedDim, numHeads, numKeyValueHeads });
  if (numHeads % numKeyValueHeads !== 0) {
    throw new ConfigError(where, 'numHeads must be a multiple of numKeyValueHeads', {
      numHeads,
      numKeyValueHeads,
    });
  }
  if (known.headDim === undefined && embedDim % numHeads !== 0) {
    throw new ConfigError(where, 'embedDim must divide by numHeads, or headDim must be given', {
      embedDim,
      numHeads,
    });
  }
  const { headDim = embedDim / numHeads, keyEmbedDim = embedDim, outputDim = embedDim } = known;
  const { valueHeadDim = headDim, valueEmbedDim = keyEmbedDim } = known;
  const sizes = { headDim, valueHeadDim, keyEmbedDim, valueEmbedDim, outputDim };
  checkSizes(where, sizes);
  checkScores(where, known);
  checkExtras(where, known);
  const { queryKeyNorm, learnedSinks = false, outputGate } = known;
  return {
    embedDim,
    numHeads,
    numKeyValueHeads,
    ...sizes,
    biases: biasesOf(where, known),
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
  const { queryKeyNorm, outputGate, learnedSinks } = config;
  checkFlag(where, 'learnedSinks', learnedSinks);
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

function biasesOf(where: string, { useBias = false, outputGate }: Partial<AttentionConfig>) {
  const names = projectionNames.filter((name) => name !== 'gate' || outputGate);
  if (typeof useBias === 'boolean') return useBias ? names : [];
  const isList = Array.isArray(useBias) && new Set(useBias).size === useBias.length;
  if (isList && useBias.every((name) => names.includes(name))) return useBias;
  const rule = `useBias must be true, false, or a list of ${names.join(', ')}`;
  throw new ConfigError(where, rule, { useBias });
}

/**
 * Shapes of the projections, [in, out] and, where they have a bias, [out]; then of gains, offsets and sinks where the config has
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
    if (sizes.biases.includes(name as Projection)) shapes[`${name}/bias`] = [shape[1]];
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
