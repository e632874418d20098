import type { CacheShape } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/layer';
import { assembleRows, type KeyValueRows, type KeyValueSource } from './assemble-rows';
import { RowCache } from './row-cache';
import { packed, sum } from './row-layout';

/**
 * Holds exactly the tokens appended, without a bound: all are copied at each step.
 *
 * @example
 * const cache = new GrowingCache(attention.cacheShape(1));
 * const { output } = attention.apply({ query: token }, { mask: causal(), cache });
 */
export class GrowingCache extends RowCache {
  /** @throws ConfigError for sizes that cannot be, and for options: it has none */
  constructor(shape: CacheShape, options: Readonly<Record<string, never>> = {}) {
    normalizeOptions('GrowingCache', 'options', options, []);
    super('GrowingCache', shape);
  }

  protected override checkRoom(): void {}

  protected override extended(newRows: KeyValueSource): KeyValueRows | undefined {
    const lengths = this.lengths.map((length, b) => length + newRows.counts[b]!);
    return this.copied(lengths, [...this.tokensOf(this.lengths), newRows]);
  }

  protected override cropped(lengths: readonly number[]): KeyValueRows | undefined {
    return this.copied(lengths, this.tokensOf(lengths));
  }

  private copied(lengths: readonly number[], sources: readonly KeyValueSource[]): KeyValueRows | undefined {
    if (sum(lengths) === 0) return undefined;
    return assembleRows(this.shape, sources, packed(this.shape, lengths));
  }

  private tokensOf(counts: readonly number[]): readonly KeyValueSource[] {
    return this.rows ? [{ ...this.rows, counts }] : [];
  }
}
