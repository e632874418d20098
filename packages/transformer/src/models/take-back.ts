// Caches of several layers are brought back to one place.
import type { KeyValueCache } from '@polyhead/core';
import { removableOf } from '@polyhead/core/layer';

/** The caches that hold rows: views change with their sources. */
export function withRows(caches: readonly KeyValueCache[]): readonly KeyValueCache[] {
  return caches.filter(({ source }) => !source);
}

/**
 * Forgets the tokens from `orders[b]` on, counted from the first that ever came.
 *
 * @throws ShapeError, ConfigError, UnsupportedError as `crop` does; then nothing has changed
 */
export function takeBack(cache: KeyValueCache, orders: readonly number[]): void {
  const { lengths, nextOrder } = cache;
  cache.crop(lengths.map((length, b) => length - (nextOrder[b]! - orders[b]!)));
}

/**
 * What brings the caches of a model back to what they are now. Where one of them has forgotten tokens that it would need, all
 * are emptied: no layer may be ahead of another.
 */
export function restorer(self: readonly KeyValueCache[], cross: readonly KeyValueCache[]): () => void {
  const own = withRows(self);
  const before = own.map((cache) => ({ cache, orders: [...cache.nextOrder] }));
  const open = cross.filter((cache) => !cache.sealed);
  return () => {
    const changed = before.filter(({ cache, orders }) => `${cache.nextOrder}` !== `${orders}`);
    const isBack = changed.every(({ cache, orders }) =>
      removableOf(cache).every((count, b) => cache.nextOrder[b]! - orders[b]! <= count),
    );
    if (isBack) for (const { cache, orders } of changed) takeBack(cache, orders);
    else for (const cache of own) cache.reset();
    for (const cache of open) if (cache.sealed || cache.lengths.some((length) => length > 0)) cache.reset();
  };
}
