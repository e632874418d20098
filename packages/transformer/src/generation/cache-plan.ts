// What each layer of a model keeps, as its config says: all tokens, a window, or another layer's.
import { type CacheShape, ConfigError, type KeyValueCache } from '@polyhead/core';
import type { DecoderConfig } from '../models/decoder-config';

/** For each layer what a cache is made of it, or how many bytes: `earlier` are those of the layers before. */
export interface LayerPlan<T> {
  /** Of the decoder's own tokens. */
  readonly self: (shape: CacheShape, layer: number, earlier: readonly T[]) => T;
  /** Of an encoder's output. */
  readonly cross: (shape: CacheShape, layer: number, earlier: readonly T[]) => T;
}

/** What is made of a layer, by what it keeps. */
export interface LayerKinds<T> {
  /** Of a layer that sees all tokens, and of an encoder's output. */
  full(shape: CacheShape, layer: number): T;
  /** Of a layer that sees the newest `window` tokens, itself among them. Default: as `full`. */
  window?(shape: CacheShape, window: number, layer: number): T;
  /** Of a layer that attends with the keys and values of another, whose own is `source`. Needed where there are such. */
  shared?(source: T, layer: number): T;
}

type PlannedConfig = Pick<DecoderConfig, 'windows' | 'sharedKeyValues'>;

/**
 * A plan for `ModelCache` from what a model's config says of its layers; with functions that give bytes one for
 * `ModelCache.bytesFor`. Layers may have heads of different sizes: each is made of its own shape.
 *
 * @param config that of a `Decoder`: its `windows` and `sharedKeyValues`
 * @throws ConfigError where layers share keys and values, and `shared` is not given
 * @example
 * const plan = cachePlan(model.config, {
 *   full: (shape) => new StaticCache(shape, { capacity: 4096 }),
 *   window: (shape, window) => new RingCache(shape, { window, sinks: 0 }),
 *   shared: (source) => new SharedCache(source),
 * });
 * const cache = new ModelCache(model.cacheShapes(1), plan);
 */
export function cachePlan(config: PlannedConfig, kinds: LayerKinds<KeyValueCache>): LayerPlan<KeyValueCache>;
export function cachePlan(config: PlannedConfig, kinds: LayerKinds<number>): LayerPlan<number>;
export function cachePlan<T>(
  { windows, sharedKeyValues }: PlannedConfig,
  { full, window, shared }: LayerKinds<T>,
): LayerPlan<T> {
  const from = sharedKeyValues ?? [];
  if (!shared && from.some((source) => source !== null))
    throw new ConfigError('cachePlan', 'shared must be given: layers use the keys and values of others', {
      sharedKeyValues,
    });
  return {
    self(shape, layer, earlier) {
      const source = from[layer] ?? undefined;
      if (source !== undefined) return shared!(earlier[source]!, layer);
      const size = (typeof windows === 'number' ? windows : windows?.[layer]) ?? 0;
      return size > 0 && window ? window(shape, size, layer) : full(shape, layer);
    },
    cross: (shape, layer) => full(shape, layer),
  };
}
