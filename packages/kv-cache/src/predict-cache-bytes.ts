import { type CacheShape, ConfigError, checkSizes, ShapeError } from '@polyhead/core';
import { sum } from './row-layout';

export type CacheKind = 'growing' | 'static';

const bytesPerNumber = 4;

/**
 * The `byteSize` of a cache, without making it: to the byte what tfjs then counts as allocated.
 *
 * @param tokens in each batch entry, one number for all or one for each; of a static cache its capacity
 * @throws ConfigError or ShapeError for sizes that cannot be
 */
export function predictCacheBytes(
  shape: CacheShape,
  kind: CacheKind,
  tokens: number | readonly number[],
): number {
  const { batch, heads, keySize, valueSize } = shape;
  checkSizes('predictCacheBytes', { batch, heads, keySize, valueSize });
  const counts = typeof tokens === 'number' ? Array<number>(batch).fill(tokens) : tokens;
  if (!counts.every((count) => Number.isInteger(count) && count >= 0)) {
    throw new ConfigError('predictCacheBytes', 'tokens must be whole numbers of at least 0', { tokens });
  }
  if (counts.length !== batch) {
    throw new ShapeError('predictCacheBytes', 'one number of tokens for each batch entry is needed', {
      tokens,
      batch,
    });
  }
  const rows = kind === 'static' ? batch * Math.max(...counts) : sum(counts);
  return rows * heads * (keySize + valueSize) * bytesPerNumber;
}
