// The caches that are compared, what they hold from the start, and that they take the bytes they are said to.
import type { CacheShape, KeyValueCache } from '@polyhead/core';
import { GrowingCache, predictCacheBytes, StaticCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { WrongResultError } from '../command-line/errors';
import { noise } from '../measure/noise';
import type { CacheName } from './names';

/** @param capacity of a static cache, in each batch entry */
export function createCache(name: CacheName, shape: CacheShape, capacity: number): KeyValueCache {
  return name === 'static' ? new StaticCache(shape, { capacity }) : new GrowingCache(shape);
}

/** Keys and values of tokens, made up: projecting a long prompt would take longer than what is timed. */
export interface CachedRows {
  appendTo(cache: KeyValueCache): void;
  /** Keys [Hkv, tokens, D] and values [Hkv, tokens, Dv] of a batch entry. */
  entry(b: number): { readonly key: Float32Array; readonly value: Float32Array };
}

export function cachedRows({ batch, heads, keySize, valueSize }: CacheShape, tokens: number): CachedRows {
  const rows = batch * heads * tokens;
  const key = noise(rows * keySize, { seed: 11 });
  const value = noise(rows * valueSize, { seed: 13 });
  const ofEntry = (x: Float32Array, b: number) =>
    x.subarray((b * x.length) / batch, ((b + 1) * x.length) / batch);
  return {
    appendTo: (cache) => {
      tf.tidy(() => {
        const keys = tf.tensor4d(key, [batch, heads, tokens, keySize]);
        const values = tf.tensor4d(value, [batch, heads, tokens, valueSize]);
        cache.stage({ key: keys, value: values }).commit();
      });
    },
    entry: (b) => ({ key: ofEntry(key, b), value: ofEntry(value, b) }),
  };
}

export interface BytesOfCache {
  readonly predicted: number;
  /** What the cache says of itself. */
  readonly held: number;
  /** The difference that it makes to `tf.memory()`. */
  readonly allocated: number;
}

/** @throws WrongResultError unless the three agree */
export function checkBytes(what: string, bytes: BytesOfCache): void {
  const { predicted, held, allocated } = bytes;
  if (predicted === held && held === allocated) return;
  throw new WrongResultError(
    `${what}: ${predicted} bytes of cache are predicted, it says ${held}, and ${allocated} are allocated`,
  );
}

/** The bytes of a cache that holds `tokens` in each batch entry, which is all that a static one can. Disposes it. */
export function releaseCache(name: CacheName, cache: KeyValueCache, tokens: number): BytesOfCache {
  const held = cache.byteSize;
  const before = tf.memory().numBytes;
  cache.dispose();
  return {
    predicted:
      name === 'static'
        ? predictCacheBytes(StaticCache, cache.shape, { capacity: tokens })
        : predictCacheBytes(GrowingCache, cache.shape, { tokens }),
    held,
    allocated: before - tf.memory().numBytes,
  };
}
