import {
  type CacheShape,
  ConfigError,
  type KeyValuePart,
  ShapeError,
  UnsupportedError,
} from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { checkTokens, rowBytes } from './predict-cache-bytes';
import { RowCache } from './row-cache';
import { alikeRows, allocateRows } from './rows/allocate-rows';
import { checkShape } from './rows/check-rows';
import { copyColumns, writesInPlace } from './rows/row-columns';
import {
  selectTokens,
  type TokenRows,
  type TokenSpans,
  tensorsOf,
  tokensOf,
  writeRows,
} from './rows/row-storage';

/** Options of a `PagePool`. */
export interface PagePoolOptions {
  /** How many pages there are, for all caches together. */
  readonly pages: number;
  /** Tokens of a page, in all heads. Default: 64. */
  readonly pageSize?: number | undefined;
}

/**
 * Space for keys and values that many caches share, allocated once and lent page by page (PagedAttention, Kwon et al. 2023,
 * 2309.06180): a cache has the pages that its tokens fill, and a page of a common beginning is there once.
 *
 * @example
 * const pool = new PagePool(attention.cacheShape(1), { pages: 256 });
 * const cache = new PagedCache(pool, attention.cacheShape(1));
 */
export class PagePool {
  /** Its name in JSON. */
  static readonly kind = 'PagePool';
  /** What its constructor takes, by the names in JSON. */
  static readonly parameters = ['shape', 'options'] as const;

  /** Sizes of rows, frozen; the batch is that of each cache. */
  readonly shape: CacheShape;
  /** How many pages there are. */
  readonly pages: number;
  /** Tokens of a page. */
  readonly pageSize: number;
  /** All rows: a head of a page after another. No runs. */
  private readonly all: KeyValuePart;
  private readonly holders: Int32Array; // [pages]: tables that name a page
  private used = 0;
  private next = 0; // where the search for free pages begins
  private lastStage = 0;

  /**
   * @throws ConfigError for sizes that cannot be, and for options that are not known
   * @throws UnsupportedError where memory does not suffice, and on backends whose tensors cannot be written in place
   */
  constructor(shape: CacheShape, options: PagePoolOptions) {
    const { pages, pageSize } = checkPool('PagePool', options);
    this.shape = Object.freeze(checkShape('PagePool', shape));
    if (!writesInPlace()) {
      const reasons = [`tensors of the backend ${tf.getBackend()} cannot be written in place`];
      throw new UnsupportedError('PagePool', 'pages are shared where they lie', reasons);
    }
    this.pages = pages;
    this.pageSize = pageSize;
    this.holders = new Int32Array(pages);
    const rows = allocateRows('PagePool', { ...shape, batch: 1 }, { tokens: pages * pageSize, pages });
    this.all = { ...rows, headStride: pageSize };
    for (const tensor of tensorsOf([this.all])) tf.keep(tensor);
  }

  /**
   * The `byteSize`, however many pages are lent.
   *
   * @throws ConfigError for sizes that cannot be
   */
  static bytesFor(shape: CacheShape, options: PagePoolOptions): number {
    const { pages, pageSize } = checkPool('PagePool.bytesFor', options);
    return rowBytes('PagePool.bytesFor', shape) * pages * pageSize;
  }

  /** Pages that no cache has. */
  get freePages(): number {
    return this.pages - this.used;
  }

  /** Bytes of all pages, as `tf.memory()` counts them; 0 once it is disposed. */
  get byteSize(): number {
    return this.all.key.data.isDisposed ? 0 : PagePool.bytesFor(this.shape, this);
  }

  /**
   * Frees all memory. A second time does nothing.
   *
   * @throws ConfigError while caches have pages: dispose them first
   */
  dispose(): void {
    if (this.used > 0)
      throw new ConfigError('PagePool.dispose', 'no cache may have pages: dispose those first', {
        'pages in use': this.used,
      });
    tf.dispose([...tensorsOf([this.all])]);
  }

  /** What makes such a pool again, empty. */
  toJSON(): { readonly kind: string; readonly [parameter: string]: unknown } {
    const { shape, pages, pageSize } = this;
    return { kind: 'PagePool', shape, options: { pages, pageSize } };
  }

  /** @internal Rows of all heads of these pages, of head 0 the first. */
  rowsOf(runs: (b: number) => Int32Array): KeyValuePart {
    return { ...this.all, runs };
  }

  /** @internal The first row of a page. */
  firstRow(page: number): number {
    return page * this.pageSize * this.shape.heads;
  }

  /** @internal Whether more than one table names the page. */
  isShared(page: number): boolean {
    return this.holders[page]! > 1;
  }

  /** @internal Free pages, which stay free until they are retained: of two that look at once the first has lost. */
  lookForFree(count: number): { readonly pages: readonly number[]; readonly check: () => void } {
    const pages: number[] = [];
    for (let n = 0; pages.length < count; n++) {
      const page = (this.next + n) % this.pages;
      if (this.holders[page] === 0) pages.push(page);
    }
    const stage = count > 0 ? ++this.lastStage : 0;
    const check = () => {
      if (stage === 0 || stage === this.lastStage) return;
      throw new ConfigError('PagedCache.stage', 'another cache has taken the pages since: stage again');
    };
    return { pages, check };
  }

  /** @internal */
  retain(page: number): void {
    if (this.holders[page]!++ > 0) return;
    this.used++;
    this.next = (page + 1) % this.pages;
  }

  /** @internal */
  release(page: number): void {
    if (--this.holders[page]! === 0) this.used--;
  }
}

/**
 * Holds tokens in pages of a pool (PagedAttention, Kwon et al. 2023, 2309.06180). Entries and forks that begin alike have the
 * same pages; who writes into a page that others see has a copy first. So `fork` and `select` copy no row.
 *
 * @example
 * const question = cache.fork(); // of a cache that holds a long system prompt
 * attention.apply({ query }, { mask: causal(), cache: question });
 */
export class PagedCache extends RowCache {
  /** Its name in JSON. */
  static readonly kind = 'PagedCache';
  /** What its constructor takes, by the names in JSON. */
  static readonly parameters = ['pool', 'shape'] as const;

  /**
   * @param pool of rows of the same sizes; it outlives the cache
   * @throws ConfigError for sizes that cannot be; ShapeError for other rows than the pool's
   */
  constructor(
    /** Whose pages it has. */
    readonly pool: PagePool,
    shape: CacheShape,
  ) {
    super(shape);
    if (!(pool instanceof PagePool)) throw new ConfigError('PagedCache', 'pool must be a PagePool', { pool });
    const fits = (['heads', 'keySize', 'valueSize'] as const).every(
      (size) => pool.shape[size] === shape[size],
    );
    if (!fits)
      throw new ShapeError('PagedCache', 'rows must be those of the pool', { shape, pool: pool.shape });
    this.held = [pool.rowsOf(() => new Int32Array())];
  }

  /**
   * The `byteSize` with so many tokens in each batch entry, one number for all or one for each, which share no page.
   *
   * @throws ConfigError, ShapeError for sizes that cannot be
   */
  static bytesFor(
    shape: CacheShape,
    options: { readonly tokens: number | readonly number[]; readonly pageSize?: number | undefined },
  ): number {
    const where = 'PagedCache.bytesFor';
    const bytes = rowBytes(where, shape);
    const { tokens, pageSize = 64 } = normalizeOptions(where, 'options', options, [
      ...['tokens', 'pageSize'],
    ] as (keyof typeof options)[]) as typeof options;
    checkSizes(where, { pageSize });
    const pages = checkTokens(where, tokens, shape.batch).map((count) => Math.ceil(count / pageSize));
    return pages.reduce((sum, count) => sum + count * pageSize * bytes, 0);
  }

  /** Bytes of the pages that it has, each once; other caches may have them, too. `tf.memory()` counts the pool. */
  override get byteSize(): number {
    const { shape, pool } = this;
    return new Set(this.table(this.held)).size * pool.pageSize * rowBytes(this.name, shape);
  }

  protected override checkSpace(counts: readonly number[]): void {
    const needed = counts.reduce((sum, count, b) => sum + this.missing(b, count).fresh, 0);
    const { pool, lengths } = this;
    if (needed <= pool.freePages) return;
    throw new ShapeError(`${this.name}.stage`, 'rows must fit into the free pages of the pool', {
      'pages needed': needed,
      'pages free': pool.freePages,
      'tokens of a page': pool.pageSize,
      lengths,
      'new rows': counts,
    });
  }

  protected override append(rows: TokenRows): readonly KeyValuePart[] {
    const counts = this.lengths.map((_, b) => tokensOf(rows, b));
    const { parts, free } = this.freeRows(counts);
    const [part, to] = [parts[0]!, free].map((own) => alikeRows(this.shape, own, rows)) as [
      KeyValuePart,
      KeyValuePart,
    ];
    writeRows(this.shape, rows, to);
    return [part];
  }

  protected override freeRows(counts: readonly number[]) {
    const { pool, shape, lengths } = this;
    const [held] = this.held as [KeyValuePart];
    const needs = counts.map((count, b) => this.missing(b, count));
    const { pages, check } = pool.lookForFree(needs.reduce((sum, { fresh }) => sum + fresh, 0));
    let taken = 0;
    const tables = needs.map(({ copies, fresh }, b) => {
      const added = pages.slice(taken, taken + fresh).map((page) => pool.firstRow(page));
      taken += fresh;
      const old = firstRows(held.runs(b));
      if (!copies) return [...old, ...added];
      const [last, count] = [old.pop()!, lengths[b]! % pool.pageSize];
      const [from, to] = [last, added[0]!].map((row) => pool.rowsOf(() => Int32Array.of(row, count)));
      for (const name of ['key', 'value'] as const) {
        if (name === 'value' && shape.valueSize === 0) continue;
        copyColumns({ batch: 1, heads: shape.heads }, { ...from!, ...from![name] }, { ...to!, ...to![name] });
      }
      return [...old, ...added];
    });
    const runs = tables.map((rows, b) => this.runsIn(rows, [0, lengths[b]! + counts[b]!]));
    const free = tables.map((rows, b) => this.runsIn(rows, [lengths[b]!, lengths[b]! + counts[b]!]));
    const checked = (own: readonly Int32Array[]) => (b: number) => {
      check();
      return own[b]!.slice();
    };
    return { parts: [pool.rowsOf(checked(runs))], free: pool.rowsOf(checked(free)) };
  }

  protected override selectRows(parts: readonly KeyValuePart[], spans: TokenSpans): readonly KeyValuePart[] {
    return selectTokens(parts, spans);
  }

  protected override arrange(parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
    return parts;
  }

  protected override copyRows(): readonly KeyValuePart[] {
    return this.held;
  }

  /** Pages are counted here alone. The tensors stay the pool's. */
  protected override hold(parts: readonly KeyValuePart[]): void {
    const { pool, held } = this;
    const runs = this.lengths.map((_, b) => parts[0]?.runs(b) ?? new Int32Array());
    const rows = parts[0] ? [{ ...parts[0], runs: (b: number) => runs[b]!.slice() }] : [];
    for (const page of this.table(rows)) pool.retain(page);
    for (const page of this.table(held)) pool.release(page);
    this.held = rows;
  }

  /** What makes such a cache again, without its rows, with a pool of its own. */
  override toJSON() {
    return { kind: this.name, pool: this.pool.toJSON(), shape: this.shape };
  }

  /** Pages of all batch entries. */
  private table(parts: readonly KeyValuePart[]): number[] {
    const { pool } = this;
    return this.lengths.flatMap((_, b) =>
      parts.flatMap(({ runs }) => firstRows(runs(b)).map((row) => row / pool.firstRow(1))),
    );
  }

  /** How many pages an entry lacks for new tokens; one of them copies the last, where others see that. */
  private missing(b: number, count: number): { readonly fresh: number; readonly copies: boolean } {
    const { pool } = this;
    const length = this.lengths[b]!;
    const pages = (tokens: number) => Math.ceil(tokens / pool.pageSize);
    const last = firstRows(this.held[0]!.runs(b)).at(-1)! / pool.firstRow(1);
    const copies = count > 0 && length % pool.pageSize > 0 && pool.isShared(last);
    return { fresh: pages(length + count) - pages(length) + (copies ? 1 : 0), copies };
  }

  /** Runs of the tokens from the one to the other, one for each page. */
  private runsIn(rows: readonly number[], [from, to]: readonly [number, number]): Int32Array {
    const { pageSize } = this.pool;
    const runs: number[] = [];
    for (let n = Math.floor(from / pageSize); n * pageSize < to; n++) {
      const [first, end] = [Math.max(from, n * pageSize), Math.min(to, (n + 1) * pageSize)];
      if (first < end) runs.push(rows[n]! + first - n * pageSize, end - first);
    }
    return Int32Array.from(runs);
  }
}

function firstRows(runs: Int32Array): number[] {
  return Array.from({ length: runs.length / 2 }, (_, n) => runs[2 * n]!);
}

function checkPool(where: string, options: PagePoolOptions): Required<Record<keyof PagePoolOptions, number>> {
  const given = options instanceof PagePool ? { pages: options.pages, pageSize: options.pageSize } : options;
  const { pages, pageSize = 64 } = normalizeOptions(where, 'options', given, [
    'pages',
    'pageSize',
  ]) as PagePoolOptions;
  checkSizes(where, { pages, pageSize });
  return { pages, pageSize };
}
