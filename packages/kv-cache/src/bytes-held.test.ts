// Of every kind: bytes that are predicted, that the cache says, that tfjs counts, and that the heap of wasm has lent.
import { memoryNow } from '@polyhead/conformance';
import type { CacheShape } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { hasPages } from './fixtures/own-pool';
import {
  GrowingCache,
  PagedCache,
  PagePool,
  predictCacheBytes,
  QuantizedCache,
  type QuantizedCacheOptions,
  RingCache,
  SharedCache,
  StaticCache,
} from './index';
import type { RowCache } from './row-cache';

const shape = { batch: 2, heads: 3, keySize: 40, valueSize: 12 };
const latent = { ...shape, valueSize: 0 };
const [capacity, ring] = [90, { window: 8, sinks: 3, rollback: 2 }];

interface Kind {
  readonly name: string;
  readonly shape: CacheShape;
  create(shape: CacheShape): RowCache;
  predict(shape: CacheShape, tokens: readonly number[]): number;
}

const floats: Omit<Kind, 'shape'>[] = [
  {
    name: 'GrowingCache',
    create: (of) => new GrowingCache(of),
    predict: (of, tokens) => predictCacheBytes(GrowingCache, of, { tokens }),
  },
  {
    name: 'StaticCache',
    create: (of) => new StaticCache(of, { capacity }),
    predict: (of) => predictCacheBytes(StaticCache, of, { capacity }),
  },
  {
    name: 'RingCache',
    create: (of) => new RingCache(of, ring),
    predict: (of) => predictCacheBytes(RingCache, of, ring),
  },
];
const words = (options: QuantizedCacheOptions): Kind => ({
  name: `QuantizedCache ${JSON.stringify(options)}`,
  shape,
  create: (of) => new QuantizedCache(of, options),
  predict: (of, tokens) => predictCacheBytes(QuantizedCache, of, { ...options, tokens }),
});
const kinds: Kind[] = [
  ...floats.flatMap((kind) => [
    { ...kind, shape },
    { ...kind, name: `${kind.name}, latent`, shape: latent },
  ]),
  words({}),
  words({ values: 'int4' }),
  words({ keys: 'int4', values: 'int4' }),
  words({ keys: 'int4-channel', values: 'int4', residual: 5 }),
];

type Heap = Record<'_malloc' | '_free', (n: number) => number>;

/** Counts what the heap of wasm lends while something is done; of other backends nothing. */
function lentByHeap(act: () => void): { readonly lent: number | undefined } {
  const { wasm } = tf.backend() as unknown as { readonly wasm?: Heap };
  if (!wasm) {
    act();
    return { lent: undefined };
  }
  const { _malloc, _free } = wasm;
  const blocks = new Map<number, number>();
  let lent = 0;
  wasm._malloc = (bytes) => {
    const address = _malloc.call(wasm, bytes);
    blocks.set(address, bytes);
    lent += bytes;
    return address;
  };
  wasm._free = (address) => {
    lent -= blocks.get(address) ?? 0;
    blocks.delete(address);
    return _free.call(wasm, address);
  };
  try {
    act();
    return { lent };
  } finally {
    Object.assign(wasm, { _malloc, _free });
  }
}

const rows = ({ batch, heads, keySize }: CacheShape, lengths: readonly number[]) => {
  const size = (D: number) => [batch, heads, Math.max(...lengths), D] as [number, number, number, number];
  return { key: tf.ones<tf.Rank.R4>(size(keySize)), value: tf.ones<tf.Rank.R4>(size(12)), lengths };
};
/** All that a test does with a cache. */
const fill = (cache: RowCache, of: CacheShape) => {
  for (const lengths of [
    [70, 33],
    [1, 1],
    [0, 4],
  ])
    tf.tidy(() => cache.stage(rows(of, lengths)).commit());
};

it.each(kinds)('$name', ({ shape: of, create, predict }) => {
  let cache: RowCache | undefined;
  const before = memoryNow().numBytes;
  const { lent } = lentByHeap(() => {
    cache = create(of);
    fill(cache, of);
    cache.crop(cache.lengths.map((length) => length - 1));
  });
  const held = {
    said: cache!.byteSize,
    counted: memoryNow().numBytes - before,
    lent: lent ?? cache!.byteSize,
  };
  const predicted = predict(of, cache!.lengths);
  expect(held).toEqual({ said: predicted, counted: predicted, lent: predicted });
  const view = new SharedCache(cache!);
  expect([view.byteSize, memoryNow().numBytes - before]).toEqual([0, predicted]);
  cache!.dispose();
  expect(memoryNow().numBytes).toBe(before);
});

it.runIf(hasPages).each([
  ['PagedCache', shape],
  ['PagedCache, latent', latent],
])('%s: of a pool all pages are counted, of a cache those that it has', (_, of) => {
  const options = { pages: 60, pageSize: 4 };
  const before = memoryNow().numBytes;
  let pool: PagePool | undefined;
  let cache: PagedCache | undefined;
  const { lent } = lentByHeap(() => {
    pool = new PagePool(of, options);
    cache = new PagedCache(pool, of);
    fill(cache, of);
  });
  const predicted = predictCacheBytes(PagePool, of, options);
  const counted = memoryNow().numBytes - before;
  expect([pool!.byteSize, counted, lent ?? counted]).toEqual([predicted, predicted, predicted]);
  const tokens = cache!.lengths;
  expect(cache!.byteSize).toBe(predictCacheBytes(PagedCache, of, { tokens, pageSize: 4 }));
  const fork = cache!.fork();
  expect(memoryNow().numBytes - before).toBe(predicted);
  for (const one of [fork, cache!, pool!]) one.dispose();
  expect(memoryNow().numBytes).toBe(before);
});
