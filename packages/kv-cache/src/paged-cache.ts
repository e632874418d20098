import { type CacheShape, ConfigError, type KeyValuePart, ShapeError } from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
import { PagePool } from './page-pool';
import { checkTokens, rowBytes } from './predict-cache-bytes';
import { RowCache } from './row-cache';
import { alikeRows } from './rows/allocate-rows';
import { copyColumns } from './rows/row-columns';
import { selectTokens, type TokenRows, type TokenSpans, tokensOf, writeRows } from './rows/row-storage';

/** The pages of a batch entry. A token more shares the rows: only what stands behind `pages` is ever written. */
interface PageTable {
  /** The first row of each page, then space for more. */
  readonly rows: Int32Array;
  readonly pages: number;
  readonly tokens: number;
}

const noPages: PageTable = { rows: new Int32Array(), pages: 0, tokens: 0 };
/** Of parts that `freeRows` made: the tables behind their runs, which need not be written out to be held. */
const tablesBehind = new WeakMap<KeyValuePart['runs'], () => readonly PageTable[]>();

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
  /** Of what is held: [B]. */
  private tables: readonly PageTable[] = [];

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
    this.hold([pool.rowsOf(() => new Int32Array())]);
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
    const { shape, pool, tables } = this;
    const pages = new Set(tables.flatMap((table) => [...table.rows.subarray(0, table.pages)]));
    return pages.size * pool.pageSize * rowBytes(this.name, shape);
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
    const { pageSize } = pool;
    const needs = counts.map((count, b) => this.missing(b, count));
    const { pages, check } = pool.lookForFree(needs.reduce((sum, { fresh }) => sum + fresh, 0));
    let taken = 0;
    const tables = needs.map(({ copies, fresh }, b) => {
      const added = pages.slice(taken, taken + fresh).map((page) => page * pageSize);
      taken += fresh;
      const old = this.tables[b]!;
      if (copies) this.copyPage(old.rows[old.pages - 1]!, added[0]!, lengths[b]! % pageSize);
      return withPages(old, added, { copies, tokens: lengths[b]! + counts[b]! });
    });
    const checked = () => {
      check();
      return tables;
    };
    const runs = (b: number) => runsOf(checked()[b]!, pageSize);
    tablesBehind.set(runs, checked);
    const free = (b: number) => runsOf(checked()[b]!, pageSize, lengths[b]);
    return { parts: [pool.rowsOf(runs)], free: pool.rowsOf(free) };
  }

  protected override selectRows(parts: readonly KeyValuePart[], spans: TokenSpans): readonly KeyValuePart[] {
    return selectTokens(parts, spans);
  }

  protected override arrange(parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
    return parts;
  }

  /** The same rows, in tables of their own. */
  protected override copyRows(): readonly KeyValuePart[] {
    return this.held.map((part) => ({ ...part, runs: (b: number) => part.runs(b) }));
  }

  /** Pages are counted here alone: those that stay in their places stay counted. The tensors stay the pool's. */
  protected override hold(parts: readonly KeyValuePart[]): void {
    const { pool } = this;
    const before = this.held.length > 0 ? this.tables : this.lengths.map(() => noPages);
    const [part] = parts;
    const after =
      (part && tablesBehind.get(part.runs)?.()) ??
      before.map((_, b) => (part ? tableOf(part, b, pool.pageSize) : noPages));
    const pageOf = (row: number) => row / pool.pageSize;
    after.forEach((table, b) => {
      for (const row of rowsBeside(table, before[b]!)) pool.retain(pageOf(row));
    });
    before.forEach((table, b) => {
      for (const row of rowsBeside(table, after[b]!)) pool.release(pageOf(row));
    });
    this.tables = after;
    const runs = (b: number) => runsOf(after[b]!, pool.pageSize);
    tablesBehind.set(runs, () => after);
    this.held = part ? [{ ...part, runs }] : [];
  }

  /** What makes such a cache again, without its rows, with a pool of its own. */
  override toJSON() {
    return { kind: this.name, pool: this.pool.toJSON(), shape: this.shape };
  }

  /** How many pages an entry lacks for new tokens; one of them copies the last, where others see that. */
  private missing(b: number, count: number): { readonly fresh: number; readonly copies: boolean } {
    const { pool } = this;
    const length = this.lengths[b]!;
    const pages = (tokens: number) => Math.ceil(tokens / pool.pageSize);
    const table = this.tables[b]!;
    const last = table.rows[table.pages - 1]! / pool.pageSize;
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

/** The table with pages behind its own; the first of them in the place of its last, where that was copied. */
function withPages(
  { rows, pages }: PageTable,
  added: readonly number[],
  { copies, tokens }: { readonly copies: boolean; readonly tokens: number },
): PageTable {
  const from = copies ? pages - 1 : pages;
  const end = from + added.length;
  const isShared = !copies && end <= rows.length; // what others show is before `from`
  const own = isShared ? rows : new Int32Array(2 * end);
  if (!isShared) own.set(rows.subarray(0, from));
  own.set(added, from);
  return { rows: own, pages: end, tokens };
}

/** Of runs that begin with a page, and but for the last end with one. */
function tableOf(part: KeyValuePart, b: number, pageSize: number): PageTable {
  const runs = part.runs(b);
  const rows: number[] = [];
  for (let n = 0; n < runs.length; n += 2) {
    for (let row = runs[n]!; row < runs[n]! + runs[n + 1]!; row += pageSize) rows.push(row);
  }
  return { rows: Int32Array.from(rows), pages: rows.length, tokens: tokensOf(part, b) };
}

/** The rows of the tokens from one on: a run for each page, or for those that follow each other in the pool. */
function runsOf({ rows, pages, tokens }: PageTable, pageSize: number, from = 0): Int32Array {
  const first = from < tokens ? Math.floor(from / pageSize) : pages;
  const runs = new Int32Array(2 * (pages - first));
  let end = 0;
  for (let n = first; n < pages; n++) {
    const skipped = Math.max(0, from - n * pageSize);
    const count = Math.min(pageSize, tokens - n * pageSize) - skipped;
    if (end > 0 && runs[end - 2]! + runs[end - 1]! === rows[n]!) runs[end - 1]! += count;
    else {
      runs[end++] = rows[n]! + skipped;
      runs[end++] = count;
    }
  }
  return runs.subarray(0, end);
}

/** What a table has behind the beginning that another has, too. */
function rowsBeside(table: PageTable, other: PageTable): Int32Array {
  const most = Math.min(table.pages, other.pages);
  let same = table.rows === other.rows ? most : 0;
  while (same < most && table.rows[same] === other.rows[same]) same++;
  return table.rows.subarray(same, table.pages);
}
