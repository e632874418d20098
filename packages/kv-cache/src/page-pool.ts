import { type CacheShape, ConfigError, type KeyValuePart, UnsupportedError } from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { rowBytes } from './predict-cache-bytes';
import { allocateRows } from './rows/allocate-rows';
import { checkShape } from './rows/check-rows';
import { writesInPlace } from './rows/row-columns';
import { tensorsOf } from './rows/row-storage';

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
  /** All rows, [H, pages, pageSize]: pages that follow each other are one run in each head. No runs. */
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
    this.all = { ...rows, headStride: pages * pageSize };
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

  /** @internal One table more names the page: it is lent. */
  retain(page: number): void {
    if (this.holders[page]!++ > 0) return;
    this.used++;
    this.next = (page + 1) % this.pages;
  }

  /** @internal One table fewer names the page, which is free after the last. */
  release(page: number): void {
    if (--this.holders[page]! === 0) this.used--;
  }
}

function checkPool(where: string, options: PagePoolOptions): Required<Record<keyof PagePoolOptions, number>> {
  const sizes = options instanceof PagePool ? { pages: options.pages, pageSize: options.pageSize } : options;
  const { pages, pageSize = 64 } = normalizeOptions(where, 'options', sizes, [
    'pages',
    'pageSize',
  ]) as PagePoolOptions;
  checkSizes(where, { pages, pageSize });
  if (pages * pageSize >= 2 ** 31)
    throw new ConfigError(where, 'pages must have fewer than 2^31 tokens', { pages, pageSize });
  return { pages, pageSize };
}
