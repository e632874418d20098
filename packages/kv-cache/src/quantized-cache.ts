import { type CacheShape, ConfigError, type KeyValuePart, type RowMatrix } from '@polyhead/core';
import { checkNumber, normalizeOptions } from '@polyhead/core/layer';
import { checkTokens } from './predict-cache-bytes';
import { RowCache } from './row-cache';
import { checkShape, isCount } from './rows/check-rows';
import {
  appendPart,
  asFloats,
  blockParts,
  exactParts,
  formatOfFloats,
  formatOfRows,
  type KeyFormat,
  type NumberFormat,
  quantizedBytes,
  quantizeRows,
  type RowFormats,
  tokensInBlocks,
} from './rows/quantized-rows';
import { selectTokens, type TokenRows, type TokenSpans } from './rows/row-storage';

/** Options of a `QuantizedCache`. */
export interface QuantizedCacheOptions {
  /** How keys are kept, which models are far more sensitive to than to values. Default: 'int8'. */
  readonly keys?: KeyFormat | undefined;
  /** How values are kept. Default: 'int8'. */
  readonly values?: NumberFormat | undefined;
  /** With keys 'int4-channel': tokens whose keys are exact, the newest, and up to 31 more. Default: 32. */
  readonly residual?: number | undefined;
}

type Formats = RowFormats & { readonly residual: number };

/**
 * Holds exactly the tokens appended, as `GrowingCache` does, in a quarter of its bytes or less: numbers of 8 or 4 bits,
 * with scales. What a kernel reads is the stored row at once, in the call that appends it, too, so that it does not matter
 * how tokens are cut into calls; keys 'int4-channel' are exact in that call, as in KIVI (Liu et al. 2024, 2402.02750).
 * Backends that compute on a graphics card cannot write it.
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

  private readonly formats: Formats;

  /** @throws ConfigError for sizes that cannot be, values that are columns of keys, and options that are not known */
  constructor(shape: CacheShape, options: QuantizedCacheOptions | null = {}) {
    const formats = checkFormats('QuantizedCache', options ?? {});
    const { key: keys, value: values, residual } = formats;
    super(shape, { keys, values, ...(keys === 'int4-channel' && { residual }) });
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
      ...['keys', 'values', 'residual', 'tokens'],
    ] as (keyof typeof options)[]) as typeof options;
    const { key, value, residual } = checkFormats(where, formats);
    return checkTokens(where, tokens, batch).reduce((sum, length) => {
      const inWords = key === 'int4-channel' ? tokensInBlocks(length, residual) : length;
      const keys = quantizedBytes(key, keySize, inWords) + (length - inWords) * keySize * 4;
      return sum + heads * (keys + quantizedBytes(value, valueSize, length));
    }, 0);
  }

  protected override append(rows: TokenRows): readonly KeyValuePart[] {
    const { shape, held, formats } = this;
    const added = quantizeRows(`${this.name}.stage`, rows, formats);
    return formats.key === 'int4-channel' ? [...held, added] : appendPart(shape, held, added);
  }

  protected override settle(parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
    const { shape, formats } = this;
    const { key, residual } = formats;
    return key === 'int4-channel' ? blockParts(shape, parts, residual) : exactParts(shape, parts);
  }

  /** @internal How rows may lie: keys by channel also as floats, the newest. For `cacheFromBytes`. */
  formatsOf(name: 'key' | 'value'): readonly object[] {
    const { formats, shape } = this;
    const size = shape[`${name}Size`];
    const format = formatOfRows(formats[name], size);
    return format.rowsPerScale > 1 ? [format, formatOfFloats(size)] : [format];
  }

  protected override selectRows(parts: readonly KeyValuePart[], spans: TokenSpans): readonly KeyValuePart[] {
    return this.settle(selectTokens(parts, spans));
  }

  protected override floatsOf(matrix: RowMatrix): RowMatrix {
    return asFloats(matrix);
  }

  protected override arrange(parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
    return this.settle(parts);
  }
}

function checkFormats(where: string, options: QuantizedCacheOptions): Formats {
  const known = ['keys', 'values', 'residual'] as (keyof QuantizedCacheOptions)[];
  const checked = normalizeOptions(where, 'options', options, known) as QuantizedCacheOptions;
  const { keys = 'int8', values = 'int8', residual } = checked;
  checkFormat(where, { keys }, ['int8', 'int4', 'int4-channel']);
  checkFormat(where, { values }, ['int8', 'int4']);
  if (residual !== undefined && keys !== 'int4-channel')
    throw new ConfigError(where, "residual needs keys 'int4-channel'", { keys, residual });
  checkNumber(where, 'residual', residual ?? 0, [isCount, 'a whole number of at least 0']);
  return { key: keys, value: values, residual: residual ?? 32 };
}

function checkFormat(
  where: string,
  chosen: Readonly<Record<string, string>>,
  formats: readonly string[],
): void {
  for (const [name, format] of Object.entries(chosen)) {
    if (!formats.includes(format))
      throw new ConfigError(where, `${name} must be one of ${formats.join(', ')}`, chosen);
  }
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
