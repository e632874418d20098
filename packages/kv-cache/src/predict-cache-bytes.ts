import { type CacheShape, ConfigError, ShapeError } from '@polyhead/core';
import { checkSizes } from '@polyhead/core/layer';
import { checkShape } from './check-rows';
import { sum } from './row-layout';

export type CacheKind = 'growing' | 'static';

const kinds: readonly CacheKind[] = ['growing', 'static'];
const bytesPerNumber = 4;

/**
 * The `byteSize` of a cache, without making it: to the byte what tfjs then counts as allocated.
 *
 * @param tokens in each batch entry, one number for all or one for each; of a static cache its capacity
 * @throws ConfigError or ShapeError for sizes that cannot be, or an unknown kind
 */
export function predictCacheBytes(
  shape: CacheShape,
  kind: CacheKind,
  tokens: number | readonly number[],
): number {
  const where = 'predictCacheBytes';
  const { batch, heads, keySize, valueSize } = checkShape(where, shape);
  if (!kinds.includes(kind))
    throw new ConfigError(where, `kind must be one of ${kinds.join(', ')}`, { kind });
  const counts = typeof tokens === 'number' ? Array<number>(batch).fill(tokens) : tokens;
  if (!Array.isArray(counts) || !counts.every((count) => Number.isInteger(count) && count >= 0)) {
    throw new ConfigError(where, 'tokens must be whole numbers of at least 0', { tokens });
  }
  if (counts.length !== batch) {
    throw new ShapeError(where, 'one number of tokens for each batch entry is needed', {
      tokens,
      batch,
    });
  }
  const bytesPerRow = heads * (keySize + valueSize) * bytesPerNumber;
  if (kind === 'growing') return sum(counts) * bytesPerRow;
  const capacity = Math.max(...counts);
  checkSizes(where, { 'tokens of a static cache': capacity });
  return batch * capacity * bytesPerRow;
}
