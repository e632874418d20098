// Bytes of cached keys and values, for planning: arithmetic of numbers and their bits, whatever a cache keeps beside them.
import { type CacheShape, ConfigError } from '@polyhead/core';
import { checkNumber, normalizeOptions } from '@polyhead/core/layer';

/** Bits that a stored number takes. Planned storages: a package of caches need not have each of them. */
export const storageBits = { float32: 32, float16: 16, int8: 8, int4: 4 } as const;

/** How a cache stores a number. */
export type CacheStorage = keyof typeof storageBits;

/** How much a cache keeps. */
export interface CacheExtent {
  /** Tokens kept, in each batch entry. */
  readonly tokens: number;
  /** Layers with a cache of this shape. Default: 1. */
  readonly layers?: number;
  /** How each number is stored. Default: float32. */
  readonly storage?: CacheStorage;
}

/**
 * Bytes of keys and values, rounded up to whole bytes: the numbers alone, without the scales that a quantized cache
 * keeps beside them and without rows held free. What a cache really allocates its class says: `predictCacheBytes` of
 * `@polyhead/kv-cache`.
 *
 * @param shape of one layer, as `layer.cacheShape(batch)` or `cacheShape(config, batch)` gives it
 * @throws ConfigError for sizes that cannot be, or an unknown storage
 * @example
 * cacheBytes(cacheShape({ embedDim: 4096, numHeads: 32, numKeyValueHeads: 8 }), { tokens: 1, layers: 32 }); // 262144
 */
export function cacheBytes(shape: CacheShape, extent: CacheExtent): number {
  const where = 'cacheBytes';
  const sizes = normalizeOptions(where, 'shape', shape, ['batch', 'heads', 'keySize', 'valueSize']);
  const { batch, heads, keySize, valueSize } = sizes as CacheShape;
  const options = normalizeOptions(where, 'extent', extent, ['tokens', 'layers', 'storage']) as CacheExtent;
  const { tokens, layers = 1, storage = 'float32' } = options;
  for (const [name, size] of Object.entries({ batch, heads, keySize, valueSize, tokens, layers })) {
    checkNumber(where, name, size, [(n) => Number.isInteger(n) && n >= 0, 'a whole number of at least 0']);
  }
  const numbers = batch * heads * (keySize + valueSize) * tokens * layers;
  return Math.ceil((numbers * bitsOf(where, storage)) / 8);
}

/** @throws ConfigError for an unknown storage */
export function bitsOf(where: string, storage: CacheStorage): number {
  if (Object.hasOwn(storageBits, storage)) return storageBits[storage];
  throw new ConfigError(where, `storage must be one of ${Object.keys(storageBits).join(', ')}`, { storage });
}
