// Memory that ends at any allocation of any operation leaves a cache as it was, and nothing else.
import { memoryNow } from '@polyhead/conformance';
import type { CacheShape } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasPages, ownPool } from './fixtures/own-pool';
import { cacheFromBytes, cacheToBytes, GrowingCache, QuantizedCache, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const shape = { batch: 2, heads: 2, keySize: 5, valueSize: 3 };
const latent = { ...shape, valueSize: 0 };

type Create = (of: CacheShape) => RowCache;
const floats: [string, Create][] = [
  ['GrowingCache', (of) => new GrowingCache(of)],
  ['StaticCache', (of) => new StaticCache(of, { capacity: 48 })],
  ['RingCache', (of) => new RingCache(of, { window: 9, sinks: 2, rollback: 4 })],
  ['RingCache that has room', (of) => new RingCache(of, { window: 48 })],
  ...(hasPages ? [['PagedCache', (of) => ownPool(of, 4)] as [string, Create]] : []),
];
const words: [string, Create][] = [
  ['QuantizedCache', (of) => new QuantizedCache(of)],
  ['QuantizedCache of 4 bits', (of) => new QuantizedCache(of, { keys: 'int4', values: 'int4' })],
  [
    'QuantizedCache by channel',
    (of) => new QuantizedCache(of, { keys: 'int4-channel', values: 'int4', residual: 2 }),
  ],
];
const kinds: { readonly kind: string; readonly create: () => RowCache }[] = [
  ...[...floats, ...words].map(([kind, create]) => ({ kind, create: () => create(shape) })),
  ...floats.map(([kind, create]) => ({ kind: `${kind}, latent`, create: () => create(latent) })),
];

const random = (S: number, size: number, seed: number) =>
  tf.randomNormal<tf.Rank.R4>([2, 2, S, size], 0, 1, 'float32', seed);
const layer = { name: 'first' };
/** Rows outlive what is done with them. */
const rows = (S: number, lengths?: readonly number[]) => ({
  ...{ key: random(S, 5, S), value: random(S, 3, S + 1), layer },
  ...(lengths && { lengths }),
});
let [one, many, ragged]: ReturnType<typeof rows>[] = [];
beforeEach(() => {
  [one, many, ragged] = [rows(1), rows(33), rows(6, [0, 5])];
});
const append = (cache: RowCache, added: ReturnType<typeof rows>) =>
  tf.tidy(() => cache.stage(added).commit());

/** What is done to a cache; a cache that it makes. */
const operations: Record<
  string,
  (cache: RowCache, create: () => RowCache) => RowCache | undefined | Promise<void>
> = {
  'append one': (cache) => void append(cache, one!),
  'append many': (cache) => void append(cache, many!),
  'append ragged': (cache) => void append(cache, ragged!),
  crop: (cache) => void cache.crop(cache.lengths.map((length) => Math.max(0, length - 2))),
  select: (cache) => void cache.select([1, 0]),
  'select one for all': (cache) => void cache.select([1, 1]),
  fork: (cache) => cache.fork(),
  reset: (cache) => void cache.reset(),
  read: (cache) => void tf.dispose(Object.values(cache.read().materialize())),
  cacheToBytes: (cache) => cacheToBytes(cache).then(() => undefined),
};
const starts: Record<string, (cache: RowCache) => void> = {
  empty: () => {},
  'with tokens': (cache) => {
    append(cache, ragged!);
    append(cache, one!);
  },
};

interface Allocator {
  name: 'write' | '_malloc';
  of: Record<string, (...parameters: unknown[]) => unknown>;
}

/** Where the backend takes memory. */
function allocator(): Allocator {
  const backend = tf.backend() as unknown as Allocator['of'] & { readonly wasm?: Allocator['of'] };
  return backend.wasm ? { name: '_malloc', of: backend.wasm } : { name: 'write', of: backend };
}

/** @returns whether memory ended: the allocation after so many others throws */
async function withAllocations<T>(
  count: number,
  act: () => T | Promise<T>,
): Promise<{ ended: boolean; value?: T }> {
  const { name, of } = allocator();
  const allocate = of[name]!;
  const isOwn = Object.hasOwn(of, name);
  let left = count;
  of[name] = (...parameters) => {
    if (left-- <= 0) throw new Error('memory ends here');
    return allocate.apply(of, parameters);
  };
  try {
    return { ended: false, value: await act() };
  } catch (error) {
    expect(String(error)).toContain('memory ends here');
    return { ended: true };
  } finally {
    if (isOwn) of[name] = allocate;
    else delete of[name];
  }
}

function stateOf(cache: RowCache) {
  const { lengths, nextOrder, nextPosition, byteSize, sealed } = cache;
  const numbers = tf.tidy(() => {
    const { key, value } = cache.read().materialize();
    return [key, value].map((tensor) => [...tensor.dataSync()]);
  });
  return { lengths, nextOrder, nextPosition, byteSize, sealed, numbers };
}

/** @returns how often memory ended before it sufficed */
async function endEverywhere(name: string, cache: RowCache, act: () => unknown): Promise<number> {
  const before = stateOf(cache);
  const { numTensors } = memoryNow();
  for (let count = 0; ; count++) {
    const { ended, value } = await withAllocations(count, act);
    if (!ended) {
      (value as RowCache | undefined)?.dispose();
      return count;
    }
    expect([name, memoryNow().numTensors]).toEqual([name, numTensors]);
    expect(stateOf(cache)).toEqual(before);
  }
}

describe.each(kinds)('$kind', ({ create }) => {
  it.each(Object.keys(starts))('%s, is as it was wherever memory ends', async (start) => {
    for (const [name, operation] of Object.entries(operations)) {
      const { numTensors } = memoryNow();
      const [cache, other] = [create(), create()];
      for (const each of [cache, other]) starts[start]!(each);
      await endEverywhere(name, cache, () => operation(cache, create));
      await Promise.resolve(operation(other, create)).then((made) => made?.dispose());
      expect([name, stateOf(cache)]).toEqual([name, stateOf(other)]);
      for (const each of [cache, other]) each.dispose();
      expect([name, memoryNow().numTensors]).toEqual([name, numTensors]);
    }
  });

  it('serves any layer after a first append that failed, and is filled from bytes or not at all', async () => {
    const [cache, full] = [create(), create()];
    expect((await withAllocations(0, () => append(cache, many!))).ended || cache.lengths[0]! > 0).toBe(true);
    if (cache.lengths[0] === 0) append(cache, { ...one!, layer: { name: 'another' } });
    append(full, many!);
    append(full, one!);
    const bytes = await cacheToBytes(full);
    cache.reset();
    await endEverywhere('cacheFromBytes', cache, () => void cacheFromBytes(bytes, cache));
    expect(stateOf(cache)).toEqual(stateOf(full));
    for (const each of [cache, full]) each.dispose();
  });
});

it('a cache that is made leaves nothing wherever memory ends', async () => {
  for (const { kind, create } of kinds) {
    const { numTensors } = memoryNow();
    for (let count = 0; ; count++) {
      const { ended, value } = await withAllocations(count, create);
      value?.dispose();
      expect([kind, memoryNow().numTensors]).toEqual([kind, numTensors]);
      if (!ended) break;
    }
  }
});
