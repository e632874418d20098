// What the suite is told of a variant.
import type { Attention, KeyValueCache, LayerParts } from '@polyhead/core';
import type { LayerConfig, LayerRow } from '../layer-case';
import { type LayerOracle, layerOracle } from '../layer-oracle';
import type { PositionOracle } from '../position-checks/position-oracle';

/** Options of a config that a variant may have or not have; a variant's own count too. */
export type LayerOption = Exclude<keyof LayerConfig, 'embedDim' | 'numHeads' | 'seed'> | (string & {});

/** The options most variants have. */
export const commonOptions: readonly LayerOption[] = [
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
];

/** What holds for most variants and not for all. */
export interface VariantTraits {
  /**
   * A head's weights are one softmax: none is below 0, and those of a row that sees a key add up to 1. False for what
   * subtracts softmaxes, or has none. Default: true.
   */
  readonly softmax: boolean;
  /**
   * The output is a sum over heads, each a layer of one head: `query/kernel`, `key/kernel` and `value/kernel` hold a
   * head's columns side by side, `output/kernel` its rows. Default: true.
   */
  readonly sumOfHeads: boolean;
  /** It has a `toJSON`, from which `fromConfig` makes it again by its class alone. Default: true. */
  readonly json: boolean;
  /** How many of the heads that masks, `bias` and weights have there are for each of `numHeads`. Default: 1. */
  readonly scoresPerHead: number;
}

/** A result that a layer can return beside its output. */
export type Returned = 'weights' | 'logSumExp' | 'headOutputs';

/** A variant, what it computes, and what it takes and returns. */
export interface Variant {
  /** Makes a layer. Rows of the suite have the options that `options` lists, and embedDim, numHeads and seed. */
  create(config: LayerConfig, parts?: LayerParts): Attention;
  /** Its definition in doubles. Default: `layerOracle`, softmax attention between projections. */
  readonly oracle?: LayerOracle;
  /** The options its config has beside embedDim, numHeads and seed. */
  readonly options: readonly LayerOption[];
  /** What it can return beside the output. Default: weights, logSumExp and headOutputs. */
  readonly returns?: readonly Returned[];
  /** The inputs it takes beside the query; others it must refuse. Default: key and value. */
  readonly inputs?: readonly ('key' | 'value')[];
  /** What holds for it; what is left out holds as for multi-head attention. */
  readonly traits?: Partial<VariantTraits>;
  /** Configs and calls of its own, tried beside those of the suite. */
  readonly rows?: readonly LayerRow[];
  /** The position method that its layers have, by its definition; absent where they have none. */
  readonly position?: PositionOracle;
  /** A cache for its layers. Default: one made of `layer.cacheShape(batch)` that keeps keys and values as they are. */
  createCache?(layer: Attention, batch: number): KeyValueCache;
}

/** True where the variant has every option of the config. */
export function supports({ options }: Variant, config: LayerConfig): boolean {
  const { embedDim: _, numHeads: __, seed: ___, ...rest } = config;
  return Object.keys(rest).every((name) => options.includes(name as LayerOption));
}

/** True where the variant takes the input. */
export function takesInput({ inputs = ['key', 'value'] }: Variant, name: 'key' | 'value'): boolean {
  return inputs.includes(name);
}

/** What the variant can return beside the output. */
export function returnsOf({
  returns = ['weights', 'logSumExp', 'headOutputs'],
}: Variant): readonly Returned[] {
  return returns;
}

/** All traits of the variant. */
export function traitsOf({ traits }: Variant): VariantTraits {
  return { softmax: true, sumOfHeads: true, json: true, scoresPerHead: 1, ...traits };
}

/** What the results of the variant's oracle depend on beside their key: for `remember`. */
export function oracleOf({ oracle = layerOracle, position }: Variant) {
  return { oracle, identities: position ? [oracle, position] : [oracle] };
}

/** The row with the inputs that the variant takes: where it takes no key, the layer attends to itself. */
export function rowFor(variant: Variant, { Skv, ownValue, ...row }: LayerRow): LayerRow {
  return {
    ...row,
    ...(Skv !== undefined && takesInput(variant, 'key') && { Skv }),
    ...(ownValue && takesInput(variant, 'key') && takesInput(variant, 'value') && { ownValue }),
    scoresPerHead: traitsOf(variant).scoresPerHead,
  };
}
