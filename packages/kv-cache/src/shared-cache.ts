import {
  type CacheShape,
  ConfigError,
  type KeyValueCache,
  type StoredKeyValue,
  UnsupportedError,
} from '@polyhead/core';
import { checkLengths, checkShape } from './rows/check-rows';

/**
 * Another layer's keys and values, to read: for layers that project none, and attend with those that an earlier layer has
 * kept of the same tokens, as in Gemma 3n and in cross-layer attention (Brandon et al. 2024, 2405.12981). It holds nothing.
 * What appends, takes back or moves tokens is done to its source; the source comes first in each call. Where that forgets, as
 * a ring does, a call has at most as many tokens as the source can take back: its `rollback`.
 *
 * @example
 * const cache = new GrowingCache(first.cacheShape(1));
 * const view = new SharedCache(cache);
 * const { output } = first.apply({ query: x }, { mask: causal(), cache });
 * second.apply({ query: output }, { mask: causal(), cache: view });
 */
export class SharedCache implements KeyValueCache {
  /** Its name in JSON. */
  static readonly kind = 'SharedCache';
  /** What its constructor takes, by the names in JSON. */
  static readonly parameters = ['source'] as const;

  /** Whose rows it shows: the cache that holds them, also where it was made of a view. */
  readonly source: KeyValueCache;

  /** @throws ConfigError for what is no cache */
  constructor(source: KeyValueCache) {
    if (typeof source?.read !== 'function' || typeof source.stage !== 'function')
      throw new ConfigError('SharedCache', 'source must be a cache', { source });
    this.source = source.source ?? source;
  }

  /**
   * The `byteSize`: none. The source counts its own.
   *
   * @throws ConfigError for sizes that cannot be
   */
  static bytesFor(shape: CacheShape, _options?: object): number {
    checkShape('SharedCache.bytesFor', shape);
    return 0;
  }

  /** Sizes of the rows. */
  get shape(): CacheShape {
    return this.source.shape;
  }

  /** Tokens that the source holds, of each batch entry: [B]. */
  get lengths(): readonly number[] {
    return this.source.lengths;
  }

  /** Token order of the next token of each batch entry: [B]. */
  get nextOrder(): readonly number[] {
    return this.source.nextOrder;
  }

  /** Position of the next token of each batch entry: [B]. */
  get nextPosition(): readonly number[] {
    return this.source.nextPosition;
  }

  /** How many of the last tokens see all that they should, where the source says it: [B]. */
  get removable(): readonly number[] | undefined {
    return this.source.removable;
  }

  /** 0: the rows are the source's. */
  get byteSize(): number {
    return 0;
  }

  /** True: no layer fills it. */
  get sealed(): boolean {
    return true;
  }

  /** Does nothing: it takes no rows. */
  seal(): void {}

  /** What a kernel reads of the source, until that changes. */
  read(): StoredKeyValue {
    return this.source.read();
  }

  /** @throws UnsupportedError always: only the layer of the source adds rows */
  stage(): never {
    return this.refuse('stage', 'a layer that is given a view needs no key: call it with a query alone');
  }

  /**
   * Does nothing where the source has been cropped so.
   *
   * @throws UnsupportedError for other lengths than the source's
   */
  crop(lengths: readonly number[]): void {
    const kept = checkLengths('SharedCache.crop', lengths, this.lengths);
    if (kept.some((length, b) => length !== this.lengths[b]))
      this.refuse('crop', 'crop its source, and the view is');
  }

  /** @throws UnsupportedError always: the source is selected, once, and all its views are */
  select(_entries: readonly number[]): void {
    this.refuse('select', 'select in its source, and the view is');
  }

  /**
   * A view of another source.
   *
   * @param source the fork of this one's
   * @throws UnsupportedError without one: a view goes on with its source
   */
  fork(source?: KeyValueCache): SharedCache {
    if (!source) return this.refuse('fork', 'fork its source, and give the fork');
    return new SharedCache(source);
  }

  /** @throws UnsupportedError always: the source is reset */
  reset(): void {
    this.refuse('reset', 'reset its source, and the view is');
  }

  /** Does nothing: the source holds all memory. Once that is disposed, reading throws. */
  dispose(): void {}

  /** What makes such a view again, of a source of its own. */
  toJSON(): { readonly kind: string; readonly source: object | undefined } {
    return { kind: 'SharedCache', source: this.source.toJSON?.() };
  }

  private refuse(method: string, reason: string): never {
    throw new UnsupportedError(`SharedCache.${method}`, "a view only shows another layer's rows", [reason]);
  }
}
