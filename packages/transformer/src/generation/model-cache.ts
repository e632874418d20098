// The caches of all layers of a model as one object.
import {
  type CacheShape,
  ConfigError,
  type KeyValueCache,
  ShapeError,
  UnsupportedError,
} from '@polyhead/core';
import { removableOf } from '@polyhead/core/layer';
import type { LayerCacheShapes, LayerCaches } from '../models/causal-model';
import { takeBack, withRows } from '../models/take-back';
import type { LayerPlan } from './cache-plan';

/** Makes the cache of a layer. `layer` counts from 0; `earlier` are the caches of those before it, of which it may be a view. */
export type CacheFactory = (
  shape: CacheShape,
  layer: number,
  earlier: readonly KeyValueCache[],
) => KeyValueCache;

/** What makes the caches of all layers: one factory, or for each layer a cache or a factory of its own. */
export type CachePlan = CacheFactory | readonly (KeyValueCache | CacheFactory)[];

/** Plans of a decoder that attends to an encoder, too. */
export interface CachePlans {
  /** Of the decoder's own tokens. */
  readonly self: CachePlan;
  /** Of the encoder's output, all of which is seen: a ring is refused there. Default: as `self`. */
  readonly cross?: CachePlan | undefined;
}

/**
 * One cache for all layers of a decoder.
 *
 * @example
 * const cache = new ModelCache(model.cacheShapes(1), (shape) => new StaticCache(shape, { capacity: 512 }));
 * for await (const { token } of generate(model, prompt, { cache })) console.log(token);
 */
export class ModelCache implements LayerCaches {
  /** Of the decoder's own tokens, one a layer. */
  readonly self: readonly KeyValueCache[];
  /** Of the encoder's output, one a layer; absent where the model has no cross-attention. */
  readonly cross?: readonly KeyValueCache[];

  /**
   * @param shapes `model.cacheShapes(batch)`
   * @throws ConfigError, ShapeError for plans of another number of layers, for caches of other sizes, and for views of what
   *   is no earlier layer's
   */
  constructor(shapes: LayerCacheShapes, plan: CachePlan | CachePlans) {
    const { self, cross = self } = isPlans(plan) ? plan : { self: plan };
    this.self = create('self', shapes.self, self);
    try {
      if (shapes.cross.length > 0) this.cross = create('cross', shapes.cross, cross);
    } catch (error) {
      for (const cache of this.self) cache.dispose();
      throw error;
    }
  }

  /**
   * Bytes of all caches, before any is made.
   *
   * @param bytesOf such as `(shape) => StaticCache.bytesFor(shape, { capacity: 512 })`, or what `cachePlan` makes of such
   */
  static bytesFor(
    { self, cross }: LayerCacheShapes,
    bytesOf: ((shape: CacheShape, layer: number, of: 'self' | 'cross') => number) | LayerPlan<number>,
  ): number {
    const ofCall =
      typeof bytesOf === 'function'
        ? bytesOf
        : (shape: CacheShape, layer: number, of: 'self' | 'cross') => bytesOf[of](shape, layer, []);
    const bytes = [
      ...self.map((shape, n) => ofCall(shape, n, 'self')),
      ...cross.map((shape, n) => ofCall(shape, n, 'cross')),
    ];
    return bytes.reduce((sum, n) => sum + n, 0);
  }

  /** Tokens of the decoder that the model has seen, of each batch entry: [B]. Caches that forget may hold fewer. */
  get lengths(): readonly number[] {
    return this.self[0]!.nextOrder;
  }

  /** Bytes held by all layers, as `tf.memory()` counts them; what several layers share counts once. */
  get byteSize(): number {
    return this.all.reduce((sum, { byteSize }) => sum + byteSize, 0);
  }

  /**
   * All layers forget all but the first `lengths[b]` tokens that have come, of each batch entry. The encoder's output stays.
   *
   * @throws ShapeError, ConfigError; then nothing has changed
   * @throws UnsupportedError where a cache has forgotten tokens that what goes on would see; then nothing has changed
   */
  crop(lengths: readonly number[]): void {
    const own = withRows(this.self);
    const least = this.lengths.map((length, b) =>
      Math.max(...own.map((cache) => length - removableOf(cache)[b]!)),
    );
    if (lengths?.length !== least.length)
      throw new ShapeError('ModelCache.crop', 'lengths must have one number for each batch entry', {
        lengths,
        batch: least.length,
      });
    if (least.some((length, b) => lengths[b]! < length))
      throw new UnsupportedError(
        'ModelCache.crop',
        'each layer must still hold what is to stay',
        ['a cache of the plan forgets tokens as new ones come: take fewer back, or reset it and begin again'],
        { lengths, 'at least': least },
      );
    for (const cache of own) takeBack(cache, lengths); // the first refuses what any would
  }

  /**
   * Each batch entry goes on with the tokens of another, in all layers: entry b with those of `entries[b]`.
   *
   * @param options `cross: false` leaves the encoder's output where it is: for entries that attend to the same source
   * @throws UnsupportedError where a layer's cache cannot; then nothing has changed
   */
  select(entries: readonly number[], { cross = true }: { readonly cross?: boolean } = {}): void {
    const caches = withRows(cross ? this.all : this.self);
    const without = caches.filter((cache) => !cache.select).map((cache) => cache.constructor.name);
    if (without.length > 0)
      throw new UnsupportedError('ModelCache.select', 'each cache must have `select`', [
        `these have none: ${[...new Set(without)].join(', ')}`,
      ]);
    for (const cache of caches) cache.select!(entries);
  }

  /**
   * Another cache with the same tokens in all layers: what one generates the other does not see. A common prompt is computed
   * once and forked; of `PagedCache`s no row is copied.
   *
   * @throws UnsupportedError where a layer's cache cannot, or memory does not suffice; then nothing has changed
   */
  fork(): ModelCache {
    const without = this.all.filter((cache) => !cache.fork).map((cache) => cache.constructor.name);
    if (without.length > 0)
      throw new UnsupportedError('ModelCache.fork', 'each cache must have `fork`', [
        `these have none: ${[...new Set(without)].join(', ')}`,
      ]);
    const made = new Map<KeyValueCache, KeyValueCache>();
    const forked = (cache: KeyValueCache) => {
      const fork = cache.fork!(cache.source && made.get(cache.source));
      made.set(cache, fork);
      return fork;
    };
    try {
      const own = { self: this.self.map(forked), ...(this.cross && { cross: this.cross.map(forked) }) };
      return Object.assign(Object.create(ModelCache.prototype) as ModelCache, own);
    } catch (error) {
      for (const cache of made.values()) cache.dispose();
      throw error;
    }
  }

  /** All layers forget all tokens, and the encoder's output. */
  reset(): void {
    for (const cache of withRows(this.all)) cache.reset();
  }

  /** Gives the memory of all layers back; twice is once. */
  dispose(): void {
    for (const cache of this.all) cache.dispose();
  }

  private get all(): readonly KeyValueCache[] {
    return [...this.self, ...(this.cross ?? [])];
  }
}

function isPlans(plan: CachePlan | CachePlans): plan is CachePlans {
  return typeof plan === 'object' && plan !== null && 'self' in plan;
}

/** @throws ConfigError, ShapeError; then those made are disposed, and those given are as they were */
function create(name: string, shapes: readonly CacheShape[], plan: CachePlan): readonly KeyValueCache[] {
  const isList = Array.isArray(plan);
  if (!isList && typeof plan !== 'function')
    throw new ConfigError(
      'ModelCache',
      `${name} must be a factory of caches, or a list with one entry a layer`,
      {
        [name]: plan,
      },
    );
  if (isList && plan.length !== shapes.length)
    throw new ShapeError('ModelCache', `${name} must have one entry for each layer`, {
      entries: plan.length,
      layers: shapes.length,
    });
  const made: KeyValueCache[] = [];
  const all: KeyValueCache[] = [];
  try {
    for (const [n, shape] of shapes.entries()) {
      const entry = isList ? plan[n] : plan;
      const cache: KeyValueCache = typeof entry === 'function' ? entry(shape, n, all) : entry;
      if (typeof entry === 'function') made.push(cache);
      checkShape(`${name}[${n}]`, cache, shape);
      if (cache.source && !all.includes(cache.source))
        throw new ConfigError('ModelCache', `the view ${name}[${n}] must show the cache of an earlier layer`);
      all.push(cache);
    }
    return all;
  } catch (error) {
    for (const cache of made) cache?.dispose?.();
    throw error;
  }
}

function checkShape(name: string, cache: KeyValueCache, shape: CacheShape): void {
  const sizes = Object.keys(shape) as (keyof CacheShape)[];
  const fits = (size: keyof CacheShape) => cache?.shape?.[size] === shape[size];
  if (sizes.every(fits)) return;
  throw new ShapeError('ModelCache', `the cache ${name} must have the sizes of its layer`, {
    'cache has': sizes.map((size) => `${size} ${cache?.shape?.[size]}`),
    'layer needs': sizes.map((size) => `${size} ${shape[size]}`),
  });
}
