// What each kind of cache costs a model: the model decodes a text with it, and is compared with itself without a cache.
import type { AttentionKernel, CacheShape, KeyValueCache } from '@polyhead/core';
import {
  type CacheClass,
  GrowingCache,
  PagedCache,
  PagePool,
  predictCacheBytes,
  QuantizedCache,
  type QuantizedCacheOptions,
  RingCache,
} from '@polyhead/kv-cache';
import { type CausalModel, ModelCache } from '@polyhead/transformer';
import { WrongResultError } from '../command-line/errors';
import { logitsOf, qualityOf, type TextQuality } from './text-quality';

/** A kind of cache that is studied. */
export interface StudiedCache {
  readonly name: string;
  /** Tokens of the text. */
  readonly tokens: number;
  /** Tokens a call while it is studied: 1 where it matters how tokens come. */
  readonly chunk: number;
  create(shape: CacheShape, tokens: number): KeyValueCache;
  /** Bytes of one layer that has had so many tokens. */
  bytes(shape: CacheShape, tokens: number): number;
  /** Frees what its caches share. */
  dispose?(): void;
  /** The mean divergence of SmolLM2 in a prototype; twice as much is an error. */
  readonly expected?: number;
}

const shortText = 320;
const longText = 448;
const gibibyte = 2 ** 30;

function quantized(name: string, options: QuantizedCacheOptions, expected: number): StudiedCache {
  return {
    name,
    tokens: shortText,
    chunk: options.keys === 'int4-channel' ? 1 : 32,
    create: (shape) => new QuantizedCache(shape, options),
    bytes: (shape, tokens) => predictCacheBytes(QuantizedCache, shape, { ...options, tokens }),
    expected,
  };
}

function ring(window: number, sinks: number, expected?: number): StudiedCache {
  const options = { window, sinks };
  return {
    name: sinks > 0 ? `ring, ${window} + ${sinks} sinks` : `ring, ${window}, no sink`,
    tokens: longText,
    chunk: 32,
    create: (shape) => new RingCache(shape, options),
    bytes: (shape) => predictCacheBytes(RingCache as CacheClass<typeof options>, shape, options),
    ...(expected !== undefined && { expected }),
  };
}

function paged(): StudiedCache {
  const pools: PagePool[] = [];
  return {
    name: 'pages of 64',
    tokens: shortText,
    chunk: 32,
    create(shape, tokens) {
      pools.push(new PagePool(shape, { pages: Math.ceil(tokens / 64) }));
      return new PagedCache(pools.at(-1)!, shape);
    },
    bytes: (shape, tokens) => predictCacheBytes(PagedCache, shape, { tokens }),
    dispose: () => {
      for (const pool of pools) pool.dispose();
    },
  };
}

export const studiedCaches = (): readonly StudiedCache[] => [
  {
    name: 'exact (growing)',
    tokens: shortText,
    chunk: 32,
    create: (shape) => new GrowingCache(shape),
    bytes: (shape, tokens) => predictCacheBytes(GrowingCache, shape, { tokens }),
  },
  paged(),
  quantized('int8', {}, 0.0007),
  quantized('keys int8, values int4', { values: 'int4' }, 0.0076),
  quantized('keys int4 by channel, values int4', { keys: 'int4-channel', values: 'int4' }, 0.017),
  quantized('int4', { keys: 'int4', values: 'int4' }, 0.08),
  ring(252, 4, 0.0024),
  ring(124, 4),
  ring(128, 0),
];

/** What a kind costs the model. */
export interface CacheQuality extends TextQuality {
  readonly name: string;
  /** Of all layers, for each token of the text. */
  readonly bytesPerToken: number;
  /** Behind the whole text, one at a time. */
  readonly tokensPerSecond: number;
  /** Tokens whose caches fill 1 GiB; Infinity where bytes do not grow. */
  readonly longestContext: number;
  readonly tokens: number;
  readonly expected?: number;
}

const timedTokens = 8;

/**
 * @param ids of a text of at least 448 tokens and some more
 * @throws WrongResultError where a cache holds other bytes than were predicted
 */
export async function studyCaches(
  model: CausalModel,
  ids: readonly number[],
  {
    kernel,
    caches = studiedCaches(),
    onCache,
  }: {
    readonly kernel: AttentionKernel;
    readonly caches?: readonly StudiedCache[];
    readonly onCache?: (name: string) => void;
  },
): Promise<CacheQuality[]> {
  onCache?.('no cache');
  const longest = Math.max(...caches.map(({ tokens }) => tokens));
  const exact = await logitsOf(model, ids.slice(0, longest), { kernel });
  const qualities: CacheQuality[] = [];
  for (const kind of caches) {
    onCache?.(kind.name);
    qualities.push(await studyCache(model, ids, { kind, kernel, exact }));
  }
  return qualities;
}

async function studyCache(
  model: CausalModel,
  ids: readonly number[],
  {
    kind,
    kernel,
    exact,
  }: {
    readonly kind: StudiedCache;
    readonly kernel: AttentionKernel;
    readonly exact: readonly Float32Array[];
  },
): Promise<CacheQuality> {
  const { name, tokens, chunk } = kind;
  const shapes = model.cacheShapes(1);
  const cache = new ModelCache(shapes, (shape) => kind.create(shape, tokens + timedTokens));
  try {
    const text = ids.slice(0, tokens);
    const own = await logitsOf(model, text, { kernel, chunk, cache });
    const bytes = ModelCache.bytesFor(shapes, (shape) => kind.bytes(shape, tokens));
    if (bytes !== cache.byteSize)
      throw new WrongResultError(`${name}: ${bytes} bytes are predicted, and ${cache.byteSize} held`);
    const begin = performance.now();
    await logitsOf(model, ids.slice(tokens, tokens + timedTokens), { kernel, chunk: 1, cache });
    const seconds = (performance.now() - begin) / 1000;
    const growth = ModelCache.bytesFor(shapes, (shape) => kind.bytes(shape, 2 ** 21)) / 2 ** 21;
    const more = ModelCache.bytesFor(shapes, (shape) => kind.bytes(shape, 2 ** 20)) / 2 ** 20;
    return {
      name,
      tokens,
      bytesPerToken: bytes / tokens,
      tokensPerSecond: timedTokens / seconds,
      longestContext: growth < 0.75 * more ? Number.POSITIVE_INFINITY : Math.floor(gibibyte / growth),
      ...qualityOf(exact.slice(0, tokens), own, text),
      ...(kind.expected !== undefined && { expected: kind.expected }),
    };
  } finally {
    cache.dispose();
    kind.dispose?.();
  }
}
