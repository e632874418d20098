// The caches that are compared, what they hold from the start, and that they take the bytes they are said to. An entry of
// the list is all that a cache needs to stand in every table.
import type { CacheShape, KeyValueCache, StoredKeyValue } from '@polyhead/core';
import {
  GrowingCache,
  PagedCache,
  PagePool,
  QuantizedCache,
  type QuantizedCacheOptions,
  RingCache,
  StaticCache,
} from '@polyhead/kv-cache';
import { writesInPlace } from '@polyhead/kv-cache/row-cache';
import * as tf from '@tensorflow/tfjs-core';
import { WrongResultError } from '../command-line/errors';
import { noise } from '../measure/noise';

export interface ComparedCache {
  readonly name: string;
  /** Compared only where it is asked for. */
  readonly isOptional?: true;
  /** It keeps other numbers than it is given: they are what a call is held to, and how far they are off is told. */
  readonly isLossy?: true;
  /** @param capacity the most tokens that it will hold, in each batch entry */
  create(shape: CacheShape, capacity: number): KeyValueCache;
  /** Of a cache that holds so many tokens in each batch entry, all that it can. */
  predictBytes(shape: CacheShape, tokens: number): number;
  /** How a row is added, in words, on the current backend. */
  writes(): string;
}

const inPlaceOrCopied = () => `rows written ${writesInPlace() ? 'in place' : 'by copy'}`;

export const caches: readonly ComparedCache[] = [
  {
    name: 'growing',
    create: (shape) => new GrowingCache(shape),
    predictBytes: (shape, tokens) => GrowingCache.bytesFor(shape, { tokens }),
    writes: () => 'all rows copied at each call',
  },
  {
    name: 'ring',
    isOptional: true,
    create: (shape, capacity) => new RingCache(shape, ringOf(capacity)),
    predictBytes: (shape, tokens) => RingCache.bytesFor(shape, ringOf(tokens)),
    writes: inPlaceOrCopied,
  },
  {
    name: 'paged',
    isOptional: true,
    create: paged,
    predictBytes: (shape, tokens) => PagedCache.bytesFor(shape, { tokens }),
    writes: inPlaceOrCopied,
  },
  quantized('quantized-8', { keys: 'int8', values: 'int8' }),
  quantized('quantized-4', { keys: 'int4', values: 'int4' }),
  quantized('kivi-4', { keys: 'int4-channel', values: 'int4' }),
  {
    name: 'static',
    create: (shape, capacity) => new StaticCache(shape, { capacity }),
    predictBytes: (shape, tokens) => StaticCache.bytesFor(shape, { capacity: tokens }),
    writes: inPlaceOrCopied,
  },
];

/** In a pool of its own, which goes with it. */
function paged(shape: CacheShape, capacity: number): KeyValueCache {
  const pages = shape.batch * Math.ceil(capacity / pageSize);
  const pool = new PagePool(shape, { pages, pageSize });
  const cache = new PagedCache(pool, shape);
  const dispose = cache.dispose.bind(cache);
  cache.dispose = () => {
    dispose();
    pool.dispose();
  };
  return cache;
}

const pageSize = 64;

function quantized(name: string, formats: QuantizedCacheOptions): ComparedCache {
  return {
    name,
    isOptional: true,
    isLossy: true,
    create: (shape) => new QuantizedCache(shape, formats),
    predictBytes: (shape, tokens) => QuantizedCache.bytesFor(shape, { ...formats, tokens }),
    writes: () => 'all rows copied at each call',
  };
}

/** Sinks and a window as large as all tokens together: compared with one pass over them, it must forget none. */
const ringOf = (tokens: number) => ({ window: Math.max(1, tokens - 4), sinks: 4 });

export interface RowsOfCache {
  /** Keys [Hkv, tokens, D] and values [Hkv, tokens, Dv] of a batch entry. */
  entry(b: number): { readonly key: Float32Array; readonly value: Float32Array };
}

/** Keys and values of tokens, made up: projecting a long prompt would take longer than what is timed. */
export interface CachedRows extends RowsOfCache {
  appendTo(cache: KeyValueCache): void;
}

export function cachedRows({ batch, heads, keySize, valueSize }: CacheShape, tokens: number): CachedRows {
  const rows = batch * heads * tokens;
  const key = noise(rows * keySize, { seed: 11 });
  const value = noise(rows * valueSize, { seed: 13 });
  return {
    appendTo: (cache) => {
      tf.tidy(() => {
        const keys = tf.tensor4d(key, [batch, heads, tokens, keySize]);
        const values = tf.tensor4d(value, [batch, heads, tokens, valueSize]);
        cache.stage({ key: keys, value: values }).commit();
      });
    },
    ...entriesOf(batch, key, value),
  };
}

/** Rows as a kernel reads them. */
export function storedRows(stored: StoredKeyValue): RowsOfCache {
  const [key, value] = tf.tidy(() => {
    const rows = stored.materialize();
    return [rows.key.dataSync<'float32'>(), rows.value.dataSync<'float32'>()] as const;
  });
  return entriesOf(stored.lengths.length, key, value);
}

/** Calls with what the cache shows a kernel in the meantime, old and new rows: it may keep others afterwards. */
export function rowsShown(cache: KeyValueCache, call: () => void): RowsOfCache {
  let shown: RowsOfCache | undefined;
  const stage: KeyValueCache['stage'] = cache.stage.bind(cache);
  cache.stage = (rows) => {
    const staged = stage(rows);
    if (staged.stored) shown = storedRows(staged.stored);
    return staged;
  };
  try {
    call();
  } finally {
    cache.stage = stage;
  }
  return shown ?? storedRows(cache.read());
}

function entriesOf(batch: number, key: Float32Array, value: Float32Array): RowsOfCache {
  const of = (x: Float32Array, b: number) => x.subarray((b * x.length) / batch, ((b + 1) * x.length) / batch);
  return { entry: (b) => ({ key: of(key, b), value: of(value, b) }) };
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

/** The bytes of a cache that holds `tokens` in each batch entry, all that it can. Disposes it. */
export function releaseCache(kind: ComparedCache, cache: KeyValueCache, tokens: number): BytesOfCache {
  const held = cache.byteSize;
  const before = tf.memory().numBytes;
  cache.dispose();
  return {
    predicted: kind.predictBytes(cache.shape, tokens),
    held,
    allocated: before - tf.memory().numBytes,
  };
}
