// What the suite is told of a variant.
import type { Attention, LayerParts } from '@polyhead/core';
import type { LayerConfig } from '../layer-case';
import type { PositionOracle } from '../position-checks/position-oracle';

/** Options of a config that a variant may have or not have. */
export type LayerOption = Exclude<keyof LayerConfig, 'embedDim' | 'numHeads' | 'seed'>;

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

export interface Variant {
  create(config: LayerConfig, parts?: LayerParts): Attention;
  /** The options its config has beside embedDim, numHeads and seed. */
  readonly options: readonly LayerOption[];
  /** What it does to positions, by the definition; absent where it does nothing. */
  readonly position?: PositionOracle;
}

/** True where the variant has every option of the config. */
export function takes({ options }: Variant, config: LayerConfig): boolean {
  const { embedDim: _, numHeads: __, seed: ___, ...asked } = config;
  return Object.keys(asked).every((name) => options.includes(name as LayerOption));
}
