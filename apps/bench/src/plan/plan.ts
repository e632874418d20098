// What a model's attention takes: parameters, bytes of keys and values, operations. Arithmetic; no layer is made.
import { attentionCost, type CacheStorage, cacheBytes, type Flops, storageBits } from '@polyhead/inspect';
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
  readonly cache?: readonly {
    readonly tokens: number;
    readonly bytes: Readonly<Record<CacheStorage, number>>;
  }[];
  /** The largest context whose keys and values fit the memory. */
  readonly fits?: Readonly<Record<CacheStorage, number>>;
}

export const storages = Object.keys(storageBits) as CacheStorage[];

export function planAttention(model: PlannedModel, request: PlanRequest): Plan {
  return { ...request, model, ...costOf(model, request), ...cacheOf(model, request) };
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

function cacheOf({ cached, layers }: PlannedModel, { context, batch, memory }: PlanRequest): Partial<Plan> {
  if (!cached) return {};
  const bytesOf = (tokens: number, storage: CacheStorage) =>
    cacheBytes({ ...cached, batch: cached.batch * batch }, { tokens, layers, storage });
  const each = (number: (storage: CacheStorage) => number) =>
    Object.fromEntries(storages.map((storage) => [storage, number(storage)])) as Record<CacheStorage, number>;
  const contexts = [...new Set([1, Math.ceil(context / 4), context, 4 * context])];
  return {
    cache: contexts.map((tokens) => ({ tokens, bytes: each((storage) => bytesOf(tokens, storage)) })),
    // Two tokens are whole bytes in every storage.
    ...(memory && { fits: each((storage) => Math.floor((2 * memory.bytes) / bytesOf(2, storage))) }),
  };
}
