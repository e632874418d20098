import { type CacheShape, ShapeError, UnsupportedError } from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { assembleRows, type KeyValueRows, type KeyValueSource } from './assemble-rows';
import { copyRows, type RowSource, type RowTarget } from './copy-rows';
import { emptyRows, reachesFloats } from './floats';
import { predictCacheBytes } from './predict-cache-bytes';
import { RowCache } from './row-cache';
import { equalRoom, type RowLayout } from './row-layout';
import { scatterRows, scattersFast } from './scatter-rows';

/**
 * Holds up to `capacity` tokens in each batch entry, allocated once.
 *
 * @example
 * const cache = new StaticCache(attention.cacheShape(1), { capacity: 512 });
 * const { output } = attention.apply({ query: token }, { mask: causal(), cache });
 */
export class StaticCache extends RowCache {
  readonly capacity: number;

  /**
   * @throws ConfigError for sizes that cannot be, and for options that are not known
   * @throws UnsupportedError where memory does not suffice
   */
  constructor(shape: CacheShape, options: { readonly capacity: number }) {
    super('StaticCache', shape);
    const { capacity } = normalizeOptions(this.name, 'options', options, ['capacity']) as typeof options;
    checkSizes(this.name, { capacity });
    this.capacity = capacity;
    const layout = equalRoom(this.shape, capacity);
    this.hold({ ...this.allocated(layout), layout });
  }

  /** How the current backend adds tokens: a row at its place, or the whole cache anew. */
  get writes(): 'in place' | 'by copy' {
    return reachesFloats() ? 'in place' : 'by copy';
  }

  private allocated({ rows }: RowLayout) {
    const { keySize, valueSize } = this.shape;
    try {
      return tf.tidy(() => ({ key: emptyRows(rows, keySize), value: emptyRows(rows, valueSize) }));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error; // what JavaScript throws for arrays it cannot make
      throw new UnsupportedError(this.name, 'the cache must fit into memory', [error.message], {
        'bytes asked': predictCacheBytes(this.shape, 'static', this.capacity),
        capacity: this.capacity,
      });
    }
  }

  protected override checkRoom(counts: readonly number[]): void {
    const { capacity, lengths } = this;
    if (counts.every((count, b) => lengths[b]! + count <= capacity)) return;
    throw new ShapeError(`${this.name}.stage`, 'rows must fit into the capacity', {
      capacity,
      lengths,
      'rows asked': counts,
    });
  }

  protected override extended(newRows: KeyValueSource): KeyValueRows {
    const { lengths } = this;
    const rows = this.rows!;
    const write = <T>(name: 'key' | 'value', how: (source: RowSource, target: RowTarget) => T) =>
      how({ ...newRows, data: newRows[name] }, { data: rows[name], layout: rows.layout, at: lengths });
    if (reachesFloats()) {
      // Slots behind the last token are free: what is written there shows only once it is committed.
      write('key', copyRows);
      write('value', copyRows);
      return rows;
    }
    if (scattersFast())
      return { key: write('key', scatterRows), value: write('value', scatterRows), layout: rows.layout };
    return assembleRows(this.shape, [{ ...rows, counts: lengths }, newRows], rows.layout);
  }

  protected override cropped(): KeyValueRows {
    return this.rows!;
  }
}
