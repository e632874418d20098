import { type CacheShape, type KeyValuePart, ShapeError } from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
import { rowBytes } from './predict-cache-bytes';
import { RowCache } from './row-cache';
import { alikeRows, allocateRows } from './rows/allocate-rows';
import { scattersFast, writesInPlace } from './rows/row-columns';
import {
  equalLayout,
  gatherRows,
  type RowLayout,
  runsIn,
  selectTokens,
  type TokenRows,
  type TokenSpans,
  tokensOf,
  writeRows,
} from './rows/row-storage';

/** Options of a `StaticCache`. */
export interface StaticCacheOptions {
  /** Tokens that each batch entry has space for. */
  readonly capacity: number;
}

/**
 * Holds up to `capacity` tokens in each batch entry, allocated once.
 *
 * @example
 * const cache = new StaticCache(attention.cacheShape(1), { capacity: 512 });
 * const { output } = attention.apply({ query: token }, { mask: causal(), cache });
 */
export class StaticCache extends RowCache {
  /** Its name in JSON. */
  static readonly kind = 'StaticCache';
  /** What its constructor takes, by the names in JSON. */
  static readonly parameters = ['shape', 'options'] as const;

  /** Tokens that each batch entry has space for. */
  readonly capacity: number;
  private readonly layout: RowLayout;

  /**
   * @throws ConfigError for sizes that cannot be, and for options that are not known
   * @throws UnsupportedError where memory does not suffice
   */
  constructor(shape: CacheShape, options: StaticCacheOptions) {
    const capacity = checkCapacity('StaticCache', options);
    super(shape, { capacity });
    this.capacity = capacity;
    this.layout = equalLayout(this.shape, capacity);
    this.hold([allocateRows(this.name, this.shape, { tokens: capacity, capacity })]);
  }

  /**
   * The `byteSize`, however many tokens are held.
   *
   * @throws ConfigError for sizes that cannot be
   */
  static bytesFor(shape: CacheShape, options: StaticCacheOptions): number {
    const bytes = rowBytes('StaticCache.bytesFor', shape);
    return bytes * shape.batch * checkCapacity('StaticCache.bytesFor', options);
  }

  /** How the current backend adds tokens: rows at their places, or the whole cache anew. */
  get writes(): 'in place' | 'by copy' {
    return writesInPlace() ? 'in place' : 'by copy';
  }

  protected override checkSpace(counts: readonly number[]): void {
    const { capacity, lengths } = this;
    if (counts.every((count, b) => lengths[b]! + count <= capacity)) return;
    throw new ShapeError(`${this.name}.stage`, 'rows must fit into the capacity', {
      capacity,
      lengths,
      'new rows': counts,
    });
  }

  protected override append(rows: TokenRows): readonly KeyValuePart[] {
    const { shape, layout } = this;
    const held = alikeRows(shape, this.held[0]!, rows);
    if (!writesInPlace() && !scattersFast()) return [gatherRows(shape, [held, rows], layout)];
    const { parts, free } = this.freeRows(layout.first.map((_, b) => tokensOf(rows, b)));
    return [{ ...parts[0]!, ...writeRows(shape, rows, alikeRows(shape, free, rows)) }];
  }

  /** Rows behind the last token are free: what is written there shows only once it is committed. */
  protected override freeRows(counts: readonly number[]) {
    const { layout, lengths } = this;
    const [{ key, value, headStride }] = this.held as [KeyValuePart];
    const total = lengths.map((length, b) => length + counts[b]!);
    return {
      parts: [{ key, value, headStride, runs: runsIn(layout, total) }],
      free: { key, value, headStride, runs: runsIn(layout, counts, lengths) },
    };
  }

  protected override selectRows(parts: readonly KeyValuePart[], spans: TokenSpans): readonly KeyValuePart[] {
    const selected = selectTokens(parts, spans);
    const isInPlace = spans.every((own) => own.length === 0 || (own.length === 1 && own[0]![0] === 0));
    return isInPlace ? selected : [gatherRows(this.shape, selected, this.layout)];
  }

  protected override arrange(parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
    return [gatherRows(this.shape, parts, this.layout)];
  }
}

function checkCapacity(where: string, options: StaticCacheOptions): number {
  const { capacity } = normalizeOptions(where, 'options', options, ['capacity']) as StaticCacheOptions;
  checkSizes(where, { capacity });
  return capacity;
}
