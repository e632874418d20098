// Bytes of caches that are not made.
import { type CacheShape, ConfigError, ShapeError } from '@polyhead/core';
import { checkShape, isCount } from './rows/check-rows';

/** A class of caches that knows what its own would hold. */
export interface CacheClass<Options> {
  /** Its name in errors and JSON. */
  readonly kind: string;
  /** The `byteSize` of a cache of this shape. */
  bytesFor(shape: CacheShape, options: Options): number;
}

/**
 * The `byteSize` of a cache, without making it: to the byte what tfjs then counts as allocated.
 *
 * @param kind the class, whose `bytesFor` is asked
 * @param options `{ capacity }` of a `StaticCache`, `{ tokens }` of a `GrowingCache`
 * @throws ConfigError for what is no class of caches; ConfigError, ShapeError for sizes that cannot be
 * @example
 * predictCacheBytes(StaticCache, attention.cacheShape(1), { capacity: 4096 });
 */
export function predictCacheBytes<Options>(
  kind: CacheClass<Options>,
  shape: CacheShape,
  options: Options,
): number {
  if (typeof kind?.bytesFor === 'function') return kind.bytesFor(shape, options);
  throw new ConfigError('predictCacheBytes', 'kind must be a class of caches, such as StaticCache', { kind });
}

/**
 * Bytes of one token's rows in all heads of one batch entry, as floats.
 *
 * @throws ConfigError for sizes that cannot be
 */
export function rowBytes(where: string, shape: CacheShape): number {
  const { heads, keySize, valueSize } = checkShape(where, shape);
  return heads * (keySize + valueSize) * 4;
}

/**
 * @param tokens of each batch entry, one number for all or one for each
 * @returns tokens of each batch entry: [B]
 * @throws ConfigError, ShapeError unless they are counts
 */
export function checkTokens(
  where: string,
  tokens: number | readonly number[],
  batch: number,
): readonly number[] {
  const counts = Array.isArray(tokens) ? Array.from<number>(tokens) : [tokens as number];
  if (!counts.every(isCount))
    throw new ConfigError(where, 'tokens must be whole numbers of at least 0', { tokens });
  if (!Array.isArray(tokens)) return Array<number>(batch).fill(counts[0]!);
  if (counts.length === batch) return counts;
  throw new ShapeError(where, 'tokens must be one number, or one for each batch entry', { tokens, batch });
}
