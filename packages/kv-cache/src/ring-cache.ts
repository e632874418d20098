import {
  type CacheShape,
  ConfigError,
  type KeyValuePart,
  type Mask,
  type Span,
  UnsupportedError,
} from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
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
 * lengths at the right, since padding at the left takes the places of sinks.
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
    const { window, sinks, rollback } = checkOptions('RingCache', options);
    super(shape, { window, sinks, rollback });
    [this.window, this.sinks] = [window, sinks];
    const tokens = capacityOf({ window, sinks, rollback });
    this.layout = equalLayout(this.shape, tokens);
    this.sees = sinksAndWindow(sinks, window);
    this.hold([allocateRows(this.name, this.shape, { tokens, window, sinks, rollback })]);
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
    const { lengths, nextOrder, sinks, window } = this;
    return lengths.map((length, b) => (nextOrder[b]! > length ? length - (sinks + window - 1) : length));
  }

  protected override get mask(): Mask {
    return this.sees; // of tokens that come together, too, each sees its own window
  }

  protected override retained(length: number): readonly Span[] {
    const { sinks, capacity } = this;
    if (length <= capacity) return [[0, length]];
    const newest: Span = [length - (capacity - sinks), length];
    return sinks > 0 ? [[0, sinks], newest] : [newest];
  }

  protected override checkCrop(lengths: readonly number[]): void {
    const { lengths: held, removable, sinks } = this;
    // The next token would see tokens that are gone, unless so few stay that all before them are sinks.
    const isExact = (length: number, b: number) => length <= sinks || length >= held[b]! - removable[b]!;
    if (lengths.every(isExact)) return;
    const reasons = ['tokens that the next one would see are forgotten'];
    const facts = { lengths, held, removable, sinks };
    throw new UnsupportedError(`${this.name}.crop`, 'the window must stay whole', reasons, facts);
  }

  /**
   * Where all fit, new rows are written behind the others. Else they stay where the layer has them until they are kept:
   * what they are written over then may still be needed.
   */
  protected override append(rows: TokenRows): readonly KeyValuePart[] {
    const { shape, capacity, lengths } = this;
    const ring = alikeRows(shape, this.held[0]!, rows);
    const fits = lengths.every((length, b) => length + tokensOf(rows, b) <= capacity);
    return fits ? [this.written(ring, rows)] : [ring, asPart(rows)];
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
    const free = layout.first.map((_, b) => this.rowsBehind(ring.runs(b), b, tokensOf(rows, b)));
    const target = { ...ring, runs: (b: number) => free[b]! };
    const runs = free.map((own, b) => joinRuns([...ring.runs(b), ...own]));
    return { ...ring, ...writeRows(shape, rows, target), runs: (b) => runs[b]!.slice() };
  }

  /** Runs of the `count` rows that follow the last: behind the end goes on where the sinks end. */
  private rowsBehind(runs: Int32Array, b: number, count: number): Int32Array {
    const start = this.layout.first[b]!;
    const [afterSinks, end] = [start + this.sinks, start + this.capacity];
    const next = runs.length > 0 ? runs.at(-2)! + runs.at(-1)! : start;
    const from = next === end ? afterSinks : next;
    const before = Math.min(count, end - from);
    return joinRuns([from, before, afterSinks, count - before]);
  }

  /** Tokens that it has rows for, in each batch entry. */
  private get capacity(): number {
    return this.layout.headStride;
  }
}

function sinksAndWindow(sinks: number, window: number): Mask {
  return {
    name: 'sinksAndWindow',
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
    const [first, count] = [runs[n]!, runs[n + 1]!];
    if (joined.at(-2)! + joined.at(-1)! === first) joined[joined.length - 1]! += count;
    else if (count > 0) joined.push(first, count);
  }
  return Int32Array.from(joined);
}

function checkOptions(where: string, options: RingCacheOptions): RingSizes {
  const known = ['window', 'sinks', 'rollback'] as (keyof RingCacheOptions)[];
  const given = normalizeOptions(where, 'options', options, known) as RingCacheOptions;
  const { window, sinks = 4, rollback = 1 } = given;
  checkSizes(where, { window, rollback });
  if (!isCount(sinks)) throw new ConfigError(where, 'sinks must be a whole number of at least 0', { sinks });
  return { window, sinks, rollback };
}
