// What a model's attention takes: parameters, bytes of keys and values, operations. Arithmetic; no layer is made.
import { type CacheShape, isAttentionError } from '@polyhead/core';
import {
  type CacheStorage,
  cacheBytes,
  type Flops,
  type PlannedAttention,
  storageBits,
} from '@polyhead/inspect';
import { RingCache } from '@polyhead/kv-cache';
import { type ComparedCache, caches } from '../axes/caches';
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
  readonly parameters: { readonly all: number; readonly matrices: number };
  /** Operations of a prompt of the whole context, and of one token behind the others, where they are kept. */
  readonly flops: { readonly prompt: Flops; readonly token?: Flops };
  /** Bytes of the batch; absent where nothing is kept. */
  readonly cache?: readonly CacheRow[];
  /** The longest contexts whose keys and values fit the memory. */
  readonly fits?: readonly LongestContext[];
}

export interface LongestContext {
  /** True: layers with a window keep no more than it. */
  readonly isBounded?: true;
  /** `Infinity` where all layers have one, and it fits. */
  readonly tokens: NumberByStorage;
}

export interface CacheRow {
  readonly tokens: number;
  /** As above. */
  readonly isBounded?: true;
  readonly bytes: NumberByStorage;
}

/** By the name of the storage. */
type NumberByStorage = Readonly<Record<string, number>>;

/** How keys and values can be kept. */
interface Storage {
  readonly name: string;
  /** A cache that exists, not bare numbers. */
  readonly isCache?: true;
  /** Of one layer. */
  bytes(shape: CacheShape, tokens: number): number;
}

/** Numbers of each size, and the caches of the comparison that take other bytes than floats do. */
export function storagesOf(registry: readonly ComparedCache[] = caches): Storage[] {
  const plain = Object.keys(storageBits).map((name): Storage => {
    const storage = name as CacheStorage;
    return { name, bytes: (shape, tokens) => cacheBytes(shape, { tokens, storage }) };
  });
  const [probe, tokens] = [{ batch: 1, heads: 2, keySize: 64, valueSize: 64 }, 256];
  const others = registry.filter(
    (cache) => cache.predictBytes(probe, tokens) !== cacheBytes(probe, { tokens }),
  );
  return [
    ...plain,
    ...others.map(({ name, predictBytes }) => ({ name, isCache: true as const, bytes: predictBytes })),
  ];
}

export function planAttention(
  model: PlannedModel,
  request: PlanRequest,
  storages: readonly Storage[] = storagesOf(),
): Plan {
  const total = (of: (layer: PlannedAttention) => number) => sum(model.layers.map(of));
  const parameters = { all: total((layer) => layer.parameters), matrices: total((layer) => layer.matrices) };
  return {
    ...request,
    model,
    parameters,
    flops: flopsOf(model, request),
    ...cacheOf(model, request, storages),
  };
}

/** Layers that are alike, and how many there are. */
export function groupsOf(layers: readonly PlannedAttention[]) {
  const groups = new Map<string, { readonly layer: PlannedAttention; count: number }>();
  for (const layer of layers) {
    const { parameters: _, matrices: __, ...sizes } = layer; // shared variables are counted once
    const group = groups.get(JSON.stringify(sizes));
    if (group) group.count += 1;
    else groups.set(JSON.stringify(sizes), { layer, count: 1 });
  }
  return [...groups.values()];
}

/** Of cross-attention, the other sequence is taken to be as long, and to be projected with the prompt. */
function flopsOf({ layers, cache }: PlannedModel, { context: S, batch }: PlanRequest): Plan['flops'] {
  const prompt = totalled(layers, (layer) => [batch * S, batch * promptPairs(layer, S)]);
  if (cache === null) return { prompt };
  const decoding = layers.filter(({ part }) => part === 'decoder');
  const tokenPairs = ({ window = S, cross }: PlannedAttention) => (cross ? S : Math.min(window, S));
  return { prompt, token: totalled(decoding, (layer) => [batch, batch * tokenPairs(layer)]) };
}

/** Query i of a decoder sees keys 0 to i, the last `window` of them; of an encoder all. */
function promptPairs({ part, cross, window }: PlannedAttention, S: number): number {
  const seen = Math.min(window ?? S, S);
  if (cross) return S * S;
  return part === 'encoder' ? S * seen : seen * S - (seen * (seen - 1)) / 2;
}

function totalled(
  layers: readonly PlannedAttention[],
  work: (layer: PlannedAttention) => readonly [rows: number, pairs: number],
): Flops {
  const parts = { projections: 0, scores: 0, mixing: 0 };
  for (const { layer, count } of groupsOf(layers)) {
    const { numHeads, headDim, valueHeadDim, matrices } = layer;
    const [rows, pairs] = work(layer);
    parts.projections += 2 * count * rows * matrices;
    parts.scores += 2 * count * pairs * numHeads * headDim;
    parts.mixing += 2 * count * pairs * numHeads * valueHeadDim;
  }
  return { ...parts, total: parts.projections + parts.scores + parts.mixing };
}

/** What a cache keeps of the layer. */
function shapeOf(
  { numKeyValueHeads, headDim, valueHeadDim, isLatent, cachedNumbers }: PlannedAttention,
  batch: number,
) {
  return isLatent
    ? { batch, heads: 1, keySize: cachedNumbers, valueSize: 0 }
    : { batch, heads: numKeyValueHeads, keySize: headDim, valueSize: valueHeadDim };
}

function cacheOf(
  { layers, cache }: PlannedModel,
  { context, batch, memory }: PlanRequest,
  storages: readonly Storage[],
): Partial<Plan> {
  if (cache === null) return {};
  const kept = groupsOf(layers.filter(({ cachedNumbers, cross }) => cachedNumbers > 0 && !cross));
  const bytesOf = (storage: Storage, tokens: number, isBounded = false) =>
    sum(
      kept.map(({ layer, count }) => {
        const shape = shapeOf(layer, batch);
        const all = storage.bytes(shape, tokens);
        const isFull = isBounded && layer.window !== undefined && layer.window < tokens;
        return count * (isFull ? Math.min(all, bytesOfWindow(storage, shape, layer.window)) : all);
      }),
    );
  const able = storages.filter((storage) => kept.every(({ layer }) => holds(storage, shapeOf(layer, batch))));
  const each = (numberOf: (storage: Storage) => number): NumberByStorage =>
    Object.fromEntries(able.map((storage) => [storage.name, numberOf(storage)]));
  const contexts = [...new Set([1, Math.ceil(context / 4), context, 4 * context])];
  const bounded = (tokens: number) => kept.some(({ layer }) => (layer.window ?? tokens) < tokens);
  const fits = ({ bytes: most }: ByteSize, isBounded: boolean) =>
    each((storage) => mostThatFit(most, (tokens) => bytesOf(storage, tokens, isBounded)));
  return {
    cache: contexts.flatMap((tokens): CacheRow[] => [
      { tokens, bytes: each((storage) => bytesOf(storage, tokens)) },
      ...(bounded(tokens)
        ? [{ tokens, isBounded: true as const, bytes: each((storage) => bytesOf(storage, tokens, true)) }]
        : []),
    ]),
    ...(memory && {
      fits: [
        { tokens: fits(memory, false) },
        ...(bounded(Infinity) ? [{ isBounded: true as const, tokens: fits(memory, true) }] : []),
      ],
    }),
  };
}

/** A cache may refuse rows: quantized ones those whose values are columns of keys. */
function holds({ bytes }: Storage, shape: CacheShape): boolean {
  try {
    bytes(shape, 1);
    return true;
  } catch (error) {
    if (isAttentionError(error)) return false;
    throw error;
  }
}

/** Numbers of any size can be kept of a window alone; of the caches that exist, a ring of floats does it. */
function bytesOfWindow({ bytes, isCache }: Storage, shape: CacheShape, window: number): number {
  return isCache ? RingCache.bytesFor(shape, { window, sinks: 0 }) : bytes(shape, window);
}

/** The most tokens whose bytes, which never become fewer, are no more than those to be had. */
function mostThatFit(most: number, bytes: (tokens: number) => number): number {
  let [fits, tooMany] = [0, 2 ** 50];
  if (bytes(tooMany) <= most) return Infinity;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (bytes(middle) <= most) fits = middle;
    else tooMany = middle;
  }
  return fits;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);
