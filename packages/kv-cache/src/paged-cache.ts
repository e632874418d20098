import { type CacheShape, ConfigError, type KeyValuePart, ShapeError } from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
import { PagePool } from './page-pool';
import { checkTokens, rowBytes } from './predict-cache-bytes';
import { RowCache } from './row-cache';
import { alikeRows } from './rows/allocate-rows';
import { copyColumns } from './rows/row-columns';
import { selectTokens, type TokenRows, type TokenSpans, tokensOf, writeRows } from './rows/row-storage';

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
    const { pool, lengths } = this;
    const [held] = this.held as [KeyValuePart];
    const needs = counts.map((count, b) => this.missing(b, count));
    const { pages, check } = pool.lookForFree(needs.reduce((sum, { fresh }) => sum + fresh, 0));
    let taken = 0;
    const own = needs.map(({ copies, fresh }, b) => {
      const added = pages.slice(taken, taken + fresh).map((page) => pool.firstRow(page));
      taken += fresh;
      const old = held.runs(b);
      if (copies) this.copyPage(old.at(-2)!, added[0]!, lengths[b]! % pool.pageSize);
      return runsBehind(copies ? withLast(old, added.shift()!) : old, added, {
        length: lengths[b]!,
        count: counts[b]!,
        pageSize: pool.pageSize,
      });
    });
    const checked = (name: 'runs' | 'free') => (b: number) => {
      check();
      return own[b]![name].slice();
    };
    return { parts: [pool.rowsOf(checked('runs'))], free: pool.rowsOf(checked('free')) };
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

  /** Pages are counted here alone: those that stay in their places stay counted. The tensors stay the pool's. */
  protected override hold(parts: readonly KeyValuePart[]): void {
    const { pool } = this;
    const own = this.lengths.map((_, b) => {
      const [before, after] = [this.held, parts].map(([part]) => part?.runs(b) ?? new Int32Array());
      return { before: before!, after: after! };
    });
    const changed = (runs: Int32Array, other: Int32Array) => {
      let same = 0;
      while (same < runs.length && runs[same] === other[same]) same += 2;
      return firstRows(runs.subarray(same)).map((row) => row / pool.firstRow(1));
    };
    for (const { before, after } of own) for (const page of changed(after, before)) pool.retain(page);
    for (const { before, after } of own) for (const page of changed(before, after)) pool.release(page);
    this.held = parts[0] ? [{ ...parts[0], runs: (b: number) => own[b]!.after.slice() }] : [];
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
    const last = (this.held[0]!.runs(b).at(-2) ?? 0) / pool.firstRow(1);
    const copies = count > 0 && length % pool.pageSize > 0 && pool.isShared(last);
    return { fresh: pages(length + count) - pages(length) + (copies ? 1 : 0), copies };
  }

  /** The first rows of a page, in all heads. */
  private copyPage(from: number, to: number, count: number): void {
    const { pool, shape } = this;
    const [source, target] = [from, to].map((row) => pool.rowsOf(() => Int32Array.of(row, count))) as [
      KeyValuePart,
      KeyValuePart,
    ];
    for (const name of ['key', 'value'] as const) {
      if (name === 'value' && shape.valueSize === 0) continue;
      const extent = { batch: 1, heads: shape.heads };
      copyColumns(extent, { ...source, ...source[name] }, { ...target, ...target[name] });
    }
  }
}

/** Runs of `length + count` tokens, and of the last `count`: one for each page, the held ones and those added. */
function runsBehind(
  held: Int32Array,
  added: readonly number[],
  { length, count, pageSize }: { readonly length: number; readonly count: number; readonly pageSize: number },
) {
  const runs = new Int32Array(held.length + 2 * added.length);
  runs.set(held);
  const free: number[] = [];
  for (let n = Math.floor(length / pageSize); n * pageSize < length + count; n++) {
    const row = runs[2 * n] || added[n - held.length / 2] || 0;
    const end = Math.min(pageSize, length + count - n * pageSize);
    const from = Math.max(0, length - n * pageSize);
    runs.set([row, end], 2 * n);
    if (from < end) free.push(row + from, end - from);
  }
  return { runs, free: Int32Array.from(free) };
}

/** The same runs, the last of which begins elsewhere. */
function withLast(runs: Int32Array, row: number): Int32Array {
  const moved = runs.slice();
  moved[moved.length - 2] = row;
  return moved;
}

function firstRows(runs: Int32Array): number[] {
  return Array.from({ length: runs.length / 2 }, (_, n) => runs[2 * n]!);
}
