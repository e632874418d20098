// What a family gives for a config of another library: our JSON, and where the weights lie.
import type { WeightSource, WeightStep, WeightTable } from '@polyhead/core/layer';

/** A model of another library, in our words. */
export interface ModelDescription {
  /** What `fromConfig(config, [Decoder, zeros, …])` makes the model of. Its variables start at 0: load the weights. */
  readonly config: object;
  /** What `loadWeights(model, checkpoint, weights)` reads by. */
  readonly weights: WeightTable;
}

/** Plain JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** Sources by the names of our variables. */
export type Sources = { readonly [name: string]: WeightSource };

/** The transpose that turns a matrix [out, in] into ours, [in, out]. */
export const transposed: WeightStep = { transpose: [1, 0] };

/** A part of JSON that starts at 0. */
export const fromZero = { initializer: { kind: 'zeros' } } as const;

/** The numbers as they lie. */
export function same(tensor: string): WeightSource {
  return { tensor };
}

/** The weight [out, in] of a linear map, and its bias where it has one. */
export function linear(ours: string, theirs: string, useBias: boolean): Sources {
  return {
    [`${ours}/kernel`]: { tensor: `${theirs}.weight`, steps: [transposed] },
    ...(useBias && { [`${ours}/bias`]: same(`${theirs}.bias`) }),
  };
}

/** The weight and, of a layer norm, the bias of a norm. */
export function norm(ours: string, theirs: string, kind: 'layer' | 'rms', offset = 0): Sources {
  const steps = offset === 0 ? undefined : [{ affine: { offset } }];
  return {
    [`${ours}/gain`]: { tensor: `${theirs}.weight`, steps },
    ...(kind === 'layer' && { [`${ours}/offset`]: same(`${theirs}.bias`) }),
  };
}

/**
 * The same table for checkpoints that were saved with other prefixes: names that begin with the first prefix may begin with
 * any of them.
 */
export function withPrefixes(sources: Sources, prefixes: readonly [string, ...string[]]): Sources {
  const [first] = prefixes;
  const named = ({ tensor, ...rest }: WeightSource): WeightSource =>
    typeof tensor === 'string' && tensor.startsWith(first)
      ? { tensor: prefixes.map((prefix) => prefix + tensor.slice(first.length)), ...rest }
      : { tensor, ...rest };
  return Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, named(source)]));
}

/** One call for each index, side by side. */
export function forEach<T extends object>(count: number, f: (index: number) => T): T {
  return Object.assign({}, ...Array.from({ length: count }, (_, index) => f(index))) as T;
}
