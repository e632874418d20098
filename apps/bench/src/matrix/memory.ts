// What keys and values take, by length: arithmetic of caches, beside the weights of a layer.
import { type CacheShape, countParameters } from '@polyhead/core';
import type { ComparedCache } from '../axes/caches';
import type { ComparedLayer } from '../axes/layers';
import { registries as all, type Registries } from '../axes/registries';
import type { ComparedVariant } from '../axes/variants';
import type { MemoryRow } from './result';

const floatBytes = 4;
/** Powers of two: from a sentence to the longest contexts that models have. */
const lengths = Array.from({ length: 14 }, (_, n) => 2 ** (n + 7));
/** Beyond it nothing is looked for. */
const longest = 2 ** 40;

/** Of each variant that fits the layers, with each cache. */
export function memoryRows(
  layers: readonly ComparedLayer[],
  { variants, caches }: Pick<Registries, 'variants' | 'caches'> = all,
): MemoryRow[] {
  return layers.flatMap((layer) =>
    variants
      .filter((variant) => !variant.unfit(layer.config))
      .flatMap((variant) => caches.map((cache) => memoryRow(layer, variant, cache))),
  );
}

function memoryRow(layer: ComparedLayer, variant: ComparedVariant, cache: ComparedCache): MemoryRow {
  const shape = variant.cacheShape(layer.config, 1);
  const bytes = weightBytes(variant, layer);
  const from = outweighsFrom(bytes, shape, cache);
  return {
    ...{ layer: layer.name, variant: variant.name, cache: cache.name },
    keyValueHeads: shape.heads,
    weightBytes: bytes,
    bytes: lengths.map((tokens) => ({ tokens, bytes: cache.predictBytes(shape, tokens) })),
    ...(from !== undefined && { outweighsFrom: from }),
  };
}

export const weightBytes = (variant: ComparedVariant, { config }: ComparedLayer) =>
  floatBytes * countParameters(variant.variableShapes(config));

/** The least tokens of a sequence whose keys and values take more bytes than the weights; bytes never become fewer. */
export function outweighsFrom(weights: number, shape: CacheShape, cache: ComparedCache): number | undefined {
  let [least, most] = [0, 1];
  while (cache.predictBytes(shape, most) <= weights) {
    if (most >= longest) return undefined;
    [least, most] = [most, 2 * most];
  }
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2);
    if (cache.predictBytes(shape, middle) > weights) most = middle;
    else least = middle;
  }
  return most;
}
