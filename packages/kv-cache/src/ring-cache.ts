import { type CacheShape, type KeyValuePart, type Mask, type Span, UnsupportedError } from '@polyhead/core';
import { checkNumber, checkSizes, normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { rowBytes } from './predict-cache-bytes';
import { RowCache } from './row-cache';
import { alikeRows, allocateRows } from './rows/allocate-rows';
import { isCount } from './rows/check-rows';
import { scattersFast, writesInPlace } from './rows/row-columns';
import {
  equalLayout,
  gatherRows,
  type RowLayout,
  selectTokens,
  type TokenRows,
  type TokenSpans,
  tokensOf,
  writeRows,
} from './rows/row-storage';

/** Options of a `RingCache`. */
export interface RingCacheOptions {
  /** The newest tokens that a token sees, itself among them. */
  readonly window: number;
  /** The first tokens, which all later ones see beside the window. Default: 4. */
  readonly sinks?: number | undefined;
  /** Tokens that `crop` can always take back; each keeps one row more. Default: 1. */
  readonly rollback?: number | undefined;
}

type RingSizes = Readonly<Record<keyof RingCacheOptions, number>>;

/**
 * The first `sinks` tokens and the newest `window`, for as long as one likes, in memory that is allocated once (Xiao et al.
 * 2023, 2309.17453). Sinks are not counted in the window: with 252 and 4, a token sees 256. Positions stay those that the
 * tokens had. Decoding with it is one pass with `anyOf(globalTokens(sinks), slidingWindow({ left: window - 1, right: 0 }))`
 * and `causal()`, also where many tokens come at once. The first tokens are those of token order: pad prompts of unequal
 * lengths at the right, since padding at the left takes the places of sinks. Cross-attention, which sees all keys, refuses it.
 *
 * @example
 * const cache = new RingCache(attention.cacheShape(1), { window: 252 });
 * const { output } = attention.apply({ query: token }, { mask: causal(), cache });
 */
export class RingCache extends RowCache {
  /** Its name in JSON. */
  static readonly kind = 'RingCache';
  /** What its constructor takes, by the names in JSON. */
  static readonly parameters = ['shape', 'options'] as const;

  /** The newest tokens that a token sees, itself among them. */
  readonly window: number;
  /** The first tokens, which all later ones see. */
  readonly sinks: number;
  private readonly layout: RowLayout;
  private readonly sees: Mask;

  /**
   * @throws ConfigError for sizes that cannot be, and for options that are not known
   * @throws UnsupportedError where memory does not suffice
   */
  constructor(shape: CacheShape, options: RingCacheOptions) {
    const sizes = checkOptions('RingCache', options);
    super(shape, sizes);
    this.window = sizes.window;
    this.sinks = sizes.sinks;
    this.sees = sinksAndWindow(sizes);
    const tokens = capacityOf(sizes);
    this.layout = equalLayout(this.shape, tokens);
    this.hold([allocateRows(this.name, this.shape, { tokens, ...sizes })]);
  }

  /**
   * The `byteSize`, however many tokens have come.
   *
   * @throws ConfigError for sizes that cannot be
   */
  static bytesFor(shape: CacheShape, options: RingCacheOptions): number {
    const where = 'RingCache.bytesFor';
    return rowBytes(where, shape) * shape.batch * capacityOf(checkOptions(where, options));
  }

  /** How many of the last tokens `crop` can take back now, of each batch entry: all, until the first is forgotten. [B] */
  get removable(): readonly number[] {
    const least = this.sinks + this.window - 1;
    return this.lengths.map((length, b) => (this.nextOrder[b]! > length ? length - least : length));
  }

  protected override get mask(): Mask {
    return this.sees; // of tokens that come together, too, each sees its own window
  }

  protected override retained(length: number): readonly Span[] {
    const { sinks, capacity } = this;
    const from = length - capacity + sinks;
    return from > sinks
      ? [
          [0, sinks],
          [from, length],
        ]
      : [[0, length]];
  }

  protected override checkCrop(lengths: readonly number[]): void {
    const { lengths: held, removable } = this;
    // The next token would see tokens that are gone, unless so few stay that all before them are sinks.
    if (lengths.every((length, b) => length <= this.sinks || length >= held[b]! - removable[b]!)) return;
    const facts = { lengths, held, removable };
    throw new UnsupportedError(
      `${this.name}.crop`,
      'the window must be held',
      ['tokens are forgotten'],
      facts,
    );
  }

  /**
   * Where all fit, new rows are written behind the others. Else they stay where the layer has them until they are kept:
   * what they are written over then may still be needed.
   */
  protected override append(rows: TokenRows): readonly KeyValuePart[] {
    const ring = alikeRows(this.shape, this.held[0]!, rows);
    const fits = this.lengths.every((length, b) => length + tokensOf(rows, b) <= this.capacity);
    return fits ? [this.written(ring, rows)] : [ring, asPart(rows)];
  }

  /** Of tokens that all fit: other rows may still be needed. */
  protected override freeRows(counts: readonly number[]) {
    if (this.lengths.some((length, b) => length + counts[b]! > this.capacity)) return undefined;
    return this.rowsAndFree(this.held[0]!, counts);
  }

  protected override selectRows(parts: readonly KeyValuePart[], spans: TokenSpans): readonly KeyValuePart[] {
    const [ring, added] = selectTokens(parts, spans);
    return [added ? this.written(ring!, added) : ring!];
  }

  protected override arrange(parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
    return [gatherRows(this.shape, parts, this.layout)];
  }

  /** The ring with rows behind its own. Rows that its runs do not name are free. */
  private written(ring: KeyValuePart, rows: TokenRows): KeyValuePart {
    const { shape, layout } = this;
    if (!writesInPlace() && !scattersFast()) return gatherRows(shape, [ring, rows], layout);
    const { parts, free } = this.rowsAndFree(
      ring,
      layout.first.map((_, b) => tokensOf(rows, b)),
    );
    return { ...parts[0]!, ...writeRows(shape, rows, free) };
  }

  /** The ring with rows behind its own, and those rows. */
  private rowsAndFree(ring: KeyValuePart, counts: readonly number[]) {
    const free = counts.map((count, b) => this.rowsBehind(ring.runs(b), b, count));
    const runs = free.map((own, b) => joinRuns([...ring.runs(b), ...own]));
    return {
      parts: [{ ...ring, runs: (b: number) => runs[b]!.slice() }],
      free: { ...ring, runs: (b: number) => free[b]! },
    };
  }

  /** Runs, maybe empty, of the `count` rows that follow the last: behind the end goes on where the sinks end. */
  private rowsBehind(runs: Int32Array, b: number, count: number): Int32Array {
    const start = this.layout.first[b]!;
    const afterSinks = start + this.sinks;
    const end = start + this.capacity;
    const next = runs.length > 0 ? runs.at(-2)! + runs.at(-1)! : start;
    const from = next === end ? afterSinks : next;
    const before = Math.min(count, end - from);
    return Int32Array.of(from, before, afterSinks, count - before);
  }

  /** Tokens that it has rows for, in each batch entry. */
  private get capacity(): number {
    return this.layout.headStride;
  }
}

function sinksAndWindow({ sinks, window }: RingSizes): Mask {
  return {
    name: 'ring',
    perBatch: false,
    perHead: false,
    spans: ({ query }) => [
      [0, Math.min(sinks, query + 1)],
      [query - window + 1, query + 1],
    ],
  };
}

function capacityOf({ window, sinks, rollback }: RingSizes): number {
  return sinks + window - 1 + rollback;
}

/** The same rows as a part of their own, in tensors that a cache may dispose. */
function asPart({ key, value, headStride, runs }: TokenRows): KeyValuePart {
  const rows = ({ data }: TokenRows['key']) => tf.reshape<tf.Rank.R2>(data, [-1, data.shape.at(-1)!]);
  const keys = rows(key);
  const values = value.data === key.data ? keys : rows(value);
  return { key: { ...key, data: keys }, value: { ...value, data: values }, headStride, runs };
}

/** Runs without empty ones, and one where one goes on from the other. */
function joinRuns(runs: readonly number[]): Int32Array {
  const joined: number[] = [];
  for (let n = 0; n < runs.length; n += 2) {
    const first = runs[n]!;
    const count = runs[n + 1]!;
    if (joined.at(-2)! + joined.at(-1)! === first) joined[joined.length - 1]! += count;
    else if (count > 0) joined.push(first, count);
  }
  return Int32Array.from(joined);
}

function checkOptions(where: string, options: RingCacheOptions): RingSizes {
  const known = ['window', 'sinks', 'rollback'] as (keyof RingCacheOptions)[];
  const checked = normalizeOptions(where, 'options', options, known) as RingCacheOptions;
  const { window, sinks = 4, rollback = 1 } = checked;
  checkSizes(where, { window, rollback });
  checkNumber(where, 'sinks', sinks, [isCount, 'a whole number of at least 0']);
  return { window, sinks, rollback };
}
