// What a model's attention takes: parameters, bytes of keys and values, operations. Arithmetic; no layer is made.
import type { CacheShape } from '@polyhead/core';
import { attentionCost, type CacheStorage, cacheBytes, type Flops, storageBits } from '@polyhead/inspect';
import { type ComparedCache, caches } from '../compare/caches';
import type { ByteSize } from '../print/byte-size';
import type { PlannedModel } from './planned-model';

export interface PlanRequest {
  /** Tokens of each sequence. */
  readonly context: number;
  /** Sequences at once. */
  readonly batch: number;
  /** To be had for keys and values. */
  readonly memory?: ByteSize;
}

/** All layers together, but where it says otherwise. */
export interface Plan extends PlanRequest {
  readonly model: PlannedModel;
  readonly parameters?: { readonly layer: number; readonly all: number };
  /** Operations of a prompt of the whole context, and of one token behind the others, where they are kept. */
  readonly flops?: { readonly prompt: Flops; readonly token?: Flops };
  /** Bytes of the batch; absent where nothing is kept. */
  readonly cache?: readonly { readonly tokens: number; readonly bytes: NumberByStorage }[];
  /** The largest context whose keys and values fit the memory. */
  readonly fits?: NumberByStorage;
}

/** By the name of the storage. */
type NumberByStorage = Readonly<Record<string, number>>;

/** How keys and values can be kept. */
interface Storage {
  readonly name: string;
  bytes(shape: CacheShape, tokens: number, layers: number): number;
}

/** Numbers of each size, and the caches of the comparison that take other bytes than floats do. */
export function storagesOf(registry: readonly ComparedCache[] = caches): Storage[] {
  const plain = Object.keys(storageBits).map((name): Storage => {
    const storage = name as CacheStorage;
    return { name, bytes: (shape, tokens, layers) => cacheBytes(shape, { tokens, layers, storage }) };
  });
  const [probe, tokens] = [{ batch: 1, heads: 2, keySize: 64, valueSize: 64 }, 256];
  const others = registry.filter(
    (cache) => cache.predictBytes(probe, tokens) !== cacheBytes(probe, { tokens }),
  );
  return [
    ...plain,
    ...others.map(({ name, predictBytes }) => ({
      name,
      bytes: (shape: CacheShape, count: number, layers: number) => layers * predictBytes(shape, count),
    })),
  ];
}

export function planAttention(
  model: PlannedModel,
  request: PlanRequest,
  storages: readonly Storage[] = storagesOf(),
): Plan {
  return { ...request, model, ...costOf(model, request), ...cacheOf(model, request, storages) };
}

function costOf({ config, layers, cached }: PlannedModel, { context, batch }: PlanRequest): Partial<Plan> {
  if (!config) return {};
  const prompt = attentionCost(config, { batch, queries: context });
  const parameters = { layer: prompt.parameters, all: layers * prompt.parameters };
  if (!cached) return { parameters, flops: { prompt: times(prompt.flops.forward, layers) } };
  const token = attentionCost(config, { batch, queries: 1, keys: context, cachedKeys: context - 1 });
  // Query i sees i + 1 keys: half of all pairs, and half of the diagonal.
  const seen = (context + 1) / (2 * context);
  return {
    parameters,
    flops: { prompt: times(prompt.flops.forward, layers, seen), token: times(token.flops.forward, layers) },
  };
}

function times({ projections, scores, mixing }: Flops, layers: number, seen = 1): Flops {
  const parts = {
    projections: projections * layers,
    scores: scores * layers * seen,
    mixing: mixing * layers * seen,
  };
  return { ...parts, total: parts.projections + parts.scores + parts.mixing };
}

function cacheOf(
  { cached, layers }: PlannedModel,
  { context, batch, memory }: PlanRequest,
  storages: readonly Storage[],
): Partial<Plan> {
  if (!cached) return {};
  const shape = { ...cached, batch: cached.batch * batch };
  const each = (numberOf: (bytes: (tokens: number) => number) => number): NumberByStorage =>
    Object.fromEntries(
      storages.map(({ name, bytes }) => [name, numberOf((tokens) => bytes(shape, tokens, layers))]),
    );
  const contexts = [...new Set([1, Math.ceil(context / 4), context, 4 * context])];
  return {
    cache: contexts.map((tokens) => ({ tokens, bytes: each((bytes) => bytes(tokens)) })),
    ...(memory && { fits: each((bytes) => mostThatFit(memory.bytes, bytes)) }),
  };
}

/** The most tokens whose bytes, which never become fewer, are no more than those to be had. */
function mostThatFit(most: number, bytes: (tokens: number) => number): number {
  let [fits, tooMany] = [0, 2 ** 50];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (bytes(middle) <= most) fits = middle;
    else tooMany = middle;
  }
  return fits;
}
