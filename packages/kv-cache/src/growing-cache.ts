import type { CacheShape } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/layer';
import { checkTokens, rowBytes } from './predict-cache-bytes';
import { RowCache } from './row-cache';

/**
 * Holds exactly the tokens appended, without a bound: all are copied at each step.
 *
 * @example
 * const cache = new GrowingCache(attention.cacheShape(1));
 * const { output } = attention.apply({ query: token }, { mask: causal(), cache });
 */
export class GrowingCache extends RowCache {
  /** Its name in JSON. */
  static readonly kind = 'GrowingCache';
  /** What its constructor takes, by the names in JSON. */
  static readonly parameters = ['shape', 'options'] as const;

  /** @throws ConfigError for sizes that cannot be, and for options: it has none */
  constructor(shape: CacheShape, options: Readonly<Record<string, never>> | null = {}) {
    normalizeOptions('GrowingCache', 'options', options ?? {}, []);
    super(shape);
  }

  /**
   * The `byteSize` with so many tokens in each batch entry, one number for all or one for each.
   *
   * @throws ConfigError, ShapeError for sizes that cannot be
   */
  static bytesFor(shape: CacheShape, options: { readonly tokens: number | readonly number[] }): number {
    const where = 'GrowingCache.bytesFor';
    const bytes = rowBytes(where, shape);
    const { tokens } = normalizeOptions(where, 'options', options, ['tokens']) as typeof options;
    return checkTokens(where, tokens, shape.batch).reduce((sum, count) => sum + bytes * count, 0);
  }
}
