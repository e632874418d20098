import { type CacheShape, ConfigError, type KeyValuePart } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/layer';
import { checkTokens } from './predict-cache-bytes';
import { RowCache } from './row-cache';
import { checkShape } from './rows/check-rows';
import {
  disposePart,
  type NumberFormat,
  packQuantized,
  quantizedRowBytes,
  quantizeRows,
  type RowFormats,
} from './rows/quantized-rows';
import { selectTokens, type TokenRows, type TokenSpans } from './rows/row-storage';

/** Options of a `QuantizedCache`. */
export interface QuantizedCacheOptions {
  /** How keys are kept, which models are far more sensitive to than to values. Default: 'int8'. */
  readonly keys?: NumberFormat | undefined;
  /** How values are kept. Default: 'int8'. */
  readonly values?: NumberFormat | undefined;
}

/**
 * Holds exactly the tokens appended, as `GrowingCache` does, in a quarter of its bytes or less: numbers of 8 or 4 bits,
 * with scales. What a kernel reads is the stored row at once, in the call that appends it, too, so that it does not matter
 * how tokens are cut into calls. Backends that compute on a graphics card cannot write it.
 *
 * @example
 * const cache = new QuantizedCache(attention.cacheShape(1), { values: 'int4' });
 * const { output } = attention.apply({ query: token }, { mask: causal(), cache });
 */
export class QuantizedCache extends RowCache {
  /** Its name in JSON. */
  static readonly kind = 'QuantizedCache';
  /** What its constructor takes, by the names in JSON. */
  static readonly parameters = ['shape', 'options'] as const;

  private readonly formats: RowFormats;

  /** @throws ConfigError for sizes that cannot be, values that are columns of keys, and options that are not known */
  constructor(shape: CacheShape, options: QuantizedCacheOptions | null = {}) {
    const formats = checkFormats('QuantizedCache', options ?? {});
    super(shape, { keys: formats.key, values: formats.value });
    this.formats = formats;
    checkValues('QuantizedCache', shape);
  }

  /**
   * The `byteSize` with so many tokens in each batch entry, one number for all or one for each; scales included.
   *
   * @throws ConfigError, ShapeError for sizes that cannot be
   */
  static bytesFor(
    shape: CacheShape,
    options: QuantizedCacheOptions & { readonly tokens: number | readonly number[] },
  ): number {
    const where = 'QuantizedCache.bytesFor';
    const { batch, heads, keySize, valueSize } = checkShape(where, shape);
    checkValues(where, shape);
    const { tokens, ...formats } = normalizeOptions(where, 'options', options, [
      ...['keys', 'values', 'tokens'],
    ] as (keyof typeof options)[]) as typeof options;
    const { key, value } = checkFormats(where, formats);
    const bytes = quantizedRowBytes(key, keySize) + quantizedRowBytes(value, valueSize);
    return heads * bytes * checkTokens(where, tokens, batch);
  }

  protected override append(rows: TokenRows): readonly KeyValuePart[] {
    const added = quantizeRows(`${this.name}.stage`, rows, this.formats);
    try {
      return packQuantized(this.shape, [...this.held, added]);
    } finally {
      disposePart(added);
    }
  }

  protected override selectRows(parts: readonly KeyValuePart[], spans: TokenSpans): readonly KeyValuePart[] {
    return packQuantized(this.shape, selectTokens(parts, spans));
  }

  protected override arrange(parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
    return packQuantized(this.shape, parts);
  }
}

function checkFormats(where: string, options: QuantizedCacheOptions): RowFormats {
  const known = ['keys', 'values'] as (keyof QuantizedCacheOptions)[];
  const given = normalizeOptions(where, 'options', options, known) as QuantizedCacheOptions;
  const { keys = 'int8', values = 'int8' } = given;
  for (const [name, format] of Object.entries({ keys, values })) {
    if (format !== 'int8' && format !== 'int4')
      throw new ConfigError(where, `${name} must be 'int8' or 'int4'`, { [name]: format });
  }
  return { key: keys, value: values };
}

function checkValues(where: string, { valueSize }: CacheShape): void {
  if (valueSize > 0) return;
  throw new ConfigError(
    where,
    'values must have rows of their own: columns of quantized keys share a scale',
    {
      valueSize,
    },
  );
}
