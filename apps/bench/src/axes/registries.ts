// The axes of the matrix: what there is of each choice. One entry in a list makes it appear in every command.
import { type ComparedCache, caches } from './caches';
import { type ComparedKernel, kernels } from './kernels';
import { type ComparedLayer, layers } from './layers';
import { type ComparedPosition, positions } from './positions';
import { type ComparedVariant, variants } from './variants';

export interface Registries {
  readonly layers: readonly ComparedLayer[];
  readonly variants: readonly ComparedVariant[];
  readonly positions: readonly ComparedPosition[];
  readonly kernels: readonly ComparedKernel[];
  readonly caches: readonly ComparedCache[];
}

export const registries: Registries = { layers, variants, positions, kernels, caches };

/** A cell without positions, or without a cache. */
export const none = 'none';

/** Undefined for `none`. */
export function named<T extends { readonly name: string }>(list: readonly T[], name: string): T | undefined {
  if (name === none) return undefined;
  const entry = list.find((each) => each.name === name);
  if (!entry) throw new RangeError(`there is no ${name} among ${list.map((each) => each.name).join(', ')}`);
  return entry;
}
