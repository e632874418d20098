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
import * as tf from '@tensorflow/tfjs-core';
import { WrongResultError } from '../command-line/errors';
import { quantile } from '../measure/quantile';

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
export interface CacheQuality {
  readonly name: string;
  /** Of all layers, for each token of the text. */
  readonly bytesPerToken: number;
  /** KL divergence of the exact distribution from this one, in nats: the mean over all tokens, and its 99 % quantile. */
  readonly meanDivergence: number;
  readonly divergence99: number;
  /** Part of the tokens behind which the same token is the likeliest. */
  readonly agreement: number;
  readonly perplexity: number;
  readonly exactPerplexity: number;
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
  const exact = await logitsOf(model, ids.slice(0, longest), { kernel, chunk: longest });
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

/** Logits behind each token: [tokens][V]. */
async function logitsOf(
  model: CausalModel,
  ids: readonly number[],
  {
    chunk,
    ...call
  }: { readonly kernel: AttentionKernel; readonly chunk: number; readonly cache?: ModelCache },
): Promise<Float32Array[]> {
  const rows: Float32Array[] = [];
  for (let at = 0; at < ids.length; at += chunk) {
    const logits = tf.tidy(
      () => model.apply(tf.tensor2d([ids.slice(at, at + chunk)], undefined, 'int32'), call).logits,
    );
    const [numbers, V] = [await logits.data<'float32'>(), logits.shape[2]];
    for (let row = 0; row * V < numbers.length; row++) rows.push(numbers.slice(row * V, (row + 1) * V));
    logits.dispose();
  }
  return rows;
}

/** @param exact, own logits behind each token of the text: [tokens][V] */
export function qualityOf(
  exact: readonly Float32Array[],
  own: readonly Float32Array[],
  text: readonly number[],
): Pick<CacheQuality, 'meanDivergence' | 'divergence99' | 'agreement' | 'perplexity' | 'exactPerplexity'> {
  const [divergences, agreed]: [number[], boolean[]] = [[], []];
  let [loss, exactLoss] = [0, 0];
  exact.forEach((logits, n) => {
    const [p, q] = [logits, own[n]!];
    const [sumP, sumQ] = [logSumExp(p), logSumExp(q)];
    // Σ p (log p - log q)
    divergences.push(p.reduce((sum, x, i) => sum + Math.exp(x - sumP) * (x - sumP - (q[i]! - sumQ)), 0));
    agreed.push(likeliest(p) === likeliest(q));
    if (n + 1 === text.length) return;
    exactLoss += sumP - p[text[n + 1]!]!;
    loss += sumQ - q[text[n + 1]!]!;
  });
  const mean = (x: readonly number[]) => x.reduce((sum, y) => sum + y, 0) / x.length;
  return {
    meanDivergence: mean(divergences),
    divergence99: quantile(divergences, 0.99),
    agreement: mean(agreed.map(Number)),
    perplexity: Math.exp(loss / (text.length - 1)),
    exactPerplexity: Math.exp(exactLoss / (text.length - 1)),
  };
}

function logSumExp(x: Float32Array): number {
  const most = x.reduce((a, b) => Math.max(a, b), -Infinity);
  return most + Math.log(x.reduce((sum, y) => sum + Math.exp(y - most), 0));
}

function likeliest(x: Float32Array): number {
  return x.reduce((best, y, i) => (y > x[best]! ? i : best), 0);
}
