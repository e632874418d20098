import { describe, expect, it } from 'vitest';
import { relativeError } from '../measure/relative-error';
import { cachedRows, caches, checkBytes, releaseCache, storedRows } from './caches';

const shape = { batch: 2, heads: 3, keySize: 4, valueSize: 5 };

describe.each(caches)('a $name cache', (kind) => {
  it('holds the rows it is filled with, in the bytes predicted', () => {
    const cache = kind.create(shape, 7);
    const rows = cachedRows(shape, 7);
    rows.appendTo(cache);
    expect(cache.lengths).toEqual([7, 7]);
    const stored = storedRows(cache.read());
    const error = Math.max(
      relativeError(stored.entry(1).key, rows.entry(1).key),
      relativeError(stored.entry(0).value, rows.entry(0).value),
    );
    if (kind.isLossy) expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(kind.isLossy ? 0.1 : Number.MIN_VALUE);
    expect(stored.entry(0).key).not.toEqual(stored.entry(1).key);
    const bytes = releaseCache(kind, cache, 7);
    expect(bytes).toEqual({ predicted: bytes.held, held: bytes.held, allocated: bytes.held });
    const tokens = kind.name === 'paged' ? 64 : 7; // a page
    if (!kind.isLossy) expect(bytes.held).toBe(2 * 3 * tokens * 9 * 4);
    expect(() => checkBytes('a cache', bytes)).not.toThrow();
  });

  it('is found out where it holds another number of tokens', () => {
    const cache = kind.create(shape, 71);
    cachedRows(shape, 71).appendTo(cache);
    expect(() => checkBytes('a cache', releaseCache(kind, cache, 7))).toThrow(
      /^a cache: \d+ bytes of cache are predicted, it says \d+, and \d+ are allocated$/,
    );
  });
});

it.each(['predicted', 'held', 'allocated'])('wrong bytes %s are refused', (part) => {
  const right = { predicted: 8, held: 8, allocated: 8 };
  expect(() => checkBytes('it', { ...right, [part]: 4 })).toThrow('4');
});
