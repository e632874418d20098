// One object for the caches of all layers.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { type AttentionKernel, type CacheShape, composed, isAttentionError } from '@polyhead/core';
import { GrowingCache, RingCache, SharedCache, StaticCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Decoder } from '../models/decoder';
import { type CacheFactory, ModelCache } from './model-cache';

const [B, numLayers] = [2, 3];
const attention = (parts: object) => new MultiHeadAttention({ embedDim: 12, numHeads: 3, seed: 1 }, parts);
const config = {
  ...{ vocabularySize: 9, embedDim: 12, numLayers, seed: 2 },
  norm: { kind: 'rms' },
  feedForward: { hiddenDim: 20, activation: 'silu' },
} as const;

let model: Decoder;
let crossing: Decoder;
beforeAll(() => {
  model = new Decoder(config, { attention });
  crossing = new Decoder(config, { attention, crossAttention: attention });
});
afterAll(() => {
  model.dispose();
  crossing.dispose();
});

const growing = (shape: CacheShape) => new GrowingCache(shape);
const fixed = (shape: CacheShape) => new StaticCache(shape, { capacity: 7 });
const ids = (S: number) =>
  tf.tensor2d(
    new Int32Array(B * S).map((_, n) => (n * 5) % 9),
    [B, S],
    'int32',
  );
const lastLogits = (cache: ModelCache | undefined, tokens: tf.Tensor) =>
  tf.tidy(() => model.apply(tokens, { cache, logits: 'last' }).logits.dataSync());

describe('ModelCache', () => {
  it('takes for each layer a factory or a cache, and counts all of them', () => {
    const shapes = model.cacheShapes(B);
    const own = new StaticCache(shapes.self[1]!, { capacity: 5 });
    const layers: number[] = [];
    const cache = new ModelCache(shapes, [
      growing,
      own,
      (shape, layer) => {
        layers.push(layer);
        return fixed(shape);
      },
    ]);
    expect(layers).toEqual([2]);
    expect(cache.self[1]).toBe(own);
    lastLogits(cache, ids(4));
    expect(cache.lengths).toEqual([4, 4]);
    const predicted = ModelCache.bytesFor(shapes, (shape, layer) => {
      if (layer === 0) return GrowingCache.bytesFor(shape, { tokens: 4 });
      return StaticCache.bytesFor(shape, { capacity: layer === 1 ? 5 : 7 });
    });
    expect(cache.byteSize).toBe(predicted);
    cache.dispose();
    cache.dispose();
  });

  it('has caches for an encoder’s output where the model attends to one', () => {
    const shapes = crossing.cacheShapes(B);
    const cache = new ModelCache(shapes, { self: fixed, cross: growing });
    expect([cache.self.length, cache.cross?.length]).toEqual([numLayers, numLayers]);
    expect(cache.cross![0]).toBeInstanceOf(GrowingCache);
    expect(new ModelCache(model.cacheShapes(B), growing).cross).toBeUndefined();
    const bytes = ModelCache.bytesFor(shapes, (_, layer, of) => (of === 'cross' ? 100 : 1) * (layer + 1));
    expect(bytes).toBe(606);
    cache.dispose();
  });

  it.each([
    ['growing', growing],
    ['static', fixed],
  ])('forks all layers at once: %s', (_, plan) => {
    const [one, other] = [ids(4), ids(2)];
    const before = memoryNow();
    const cache = new ModelCache(model.cacheShapes(B), plan);
    lastLogits(cache, one);
    const fork = cache.fork();
    expect(fork.byteSize).toBe(cache.byteSize);
    const expected = lastLogits(cache, other);
    expect(fork.lengths).toEqual([4, 4]);
    cache.dispose();
    expect(lastLogits(fork, other)).toEqual(expected);
    fork.dispose();
    expectSameMemory(before);
    const own = (shape: Parameters<CacheFactory>[0]) =>
      Object.assign(new GrowingCache(shape), { fork: undefined });
    const without = new ModelCache(model.cacheShapes(B), own as CacheFactory);
    expect(() => without.fork()).toThrow(/each cache must have `fork`/);
    without.dispose();
  });

  it.each([
    ['growing', growing],
    ['static', fixed],
  ])('crops, selects and resets all layers at once: %s', (_, plan) => {
    const cache = new ModelCache(model.cacheShapes(B), plan);
    lastLogits(cache, ids(5));
    cache.crop([3, 3]);
    const [next, last] = [
      tf.tensor2d([[2], [7]], undefined, 'int32'),
      tf.tensor2d([[4], [4]], undefined, 'int32'),
    ];
    const whole = tf.concat([tf.slice(ids(5), [0, 0], [B, 3]), next], 1);
    expect([...lastLogits(cache, next)]).toEqual(
      [...lastLogits(undefined, whole)].map((x) => expect.closeTo(x, 4)),
    );
    cache.select([1, 1]);
    const second = tf.gather(tf.concat([whole, last], 1), tf.tensor1d([1, 1], 'int32'));
    expect([...lastLogits(cache, last)]).toEqual(
      [...lastLogits(undefined, second)].map((x) => expect.closeTo(x, 4)),
    );
    cache.reset();
    expect(cache.self.map(({ lengths }) => [...lengths])).toEqual(Array(numLayers).fill([0, 0]));
    cache.dispose();
  });

  it('holds as many tokens in each layer after a call that fails in any of them', () => {
    const cache = new ModelCache(model.cacheShapes(B), growing);
    lastLogits(cache, ids(3));
    const expected = [...lastLogits(cache, ids(1))];
    cache.crop([3, 3]);
    const before = memoryNow();
    for (let failing = 0; failing < numLayers; failing++) {
      let calls = 0;
      const kernel: AttentionKernel = {
        ...composed(),
        name: 'broken',
        run: (call) => {
          if (calls++ === failing) throw new Error('broken');
          return composed().run(call);
        },
      };
      const tokens = ids(1);
      expect(() => model.apply(tokens, { cache, kernel })).toThrow('broken');
      tokens.dispose();
      expect(cache.self.map(({ lengths }) => [...lengths])).toEqual(Array(numLayers).fill([3, 3]));
      expectSameMemory(before);
    }
    expect([...lastLogits(cache, ids(1))]).toEqual(expected);
    cache.dispose();
  });

  it('takes back of a ring what it still holds, in a failed call too, and is empty in all layers where that is not enough', () => {
    const ring: CacheFactory = (shape, layer) =>
      layer === 1 ? growing(shape) : new RingCache(shape, { window: 3, sinks: 1, rollback: 2 });
    const [cache, other] = [0, 1].map(() => new ModelCache(model.cacheShapes(B), ring));
    const failsIn = (failing: number): AttentionKernel => {
      let calls = 0;
      const run: AttentionKernel['run'] = (call) => {
        if (calls++ === failing) throw new Error('broken');
        return composed().run(call);
      };
      return { ...composed(), name: 'broken', run };
    };
    for (const both of [cache!, other!]) for (let n = 0; n < 9; n++) lastLogits(both, ids(1));
    expect(() => model.apply(ids(2), { cache, kernel: failsIn(2) })).toThrow('broken');
    expect(cache!.self.map(({ nextOrder }) => [...nextOrder])).toEqual(Array(numLayers).fill([9, 9]));
    lastLogits(cache!, ids(1));
    cache!.crop([9, 9]);
    expect([...lastLogits(cache!, ids(1))]).toEqual([...lastLogits(other!, ids(1))]);
    expect(() => cache!.crop([2, 9])).toThrow(/each layer must still hold what is to stay/);
    expect(cache!.lengths).toEqual([10, 10]);
    expect(() => model.apply(ids(6), { cache, kernel: failsIn(2) })).toThrow('broken');
    expect(cache!.self.map(({ lengths }) => [...lengths])).toEqual(Array(numLayers).fill([0, 0]));
    for (const both of [cache!, other!]) both.dispose();
  });

  it.each<[string, (shapes: ReturnType<Decoder['cacheShapes']>) => unknown, RegExp]>([
    ['a plan that is none', (shapes) => new ModelCache(shapes, 5 as never), /must be a factory of caches/],
    ['too few entries', (shapes) => new ModelCache(shapes, [growing]), /one entry for each layer/],
    ['what is no cache', (shapes) => new ModelCache(shapes, () => ({}) as never), /must have the sizes/],
    [
      'a cache of other sizes',
      (shapes) =>
        new ModelCache(shapes, [growing, growing, (shape) => new GrowingCache({ ...shape, batch: 1 })]),
      /self\[2\] must have the sizes of its layer\n.*batch 1.*\n.*batch 2/,
    ],
    [
      'a view of what is no earlier layer’s',
      (shapes) => new ModelCache(shapes, [growing, (shape) => new SharedCache(growing(shape)), growing]),
      /the view self\[1\] must show the cache of an earlier layer/,
    ],
  ])('refuses %s, and leaves nothing', (_, create, message) => {
    const before = memoryNow();
    expect(() => create(model.cacheShapes(B))).toThrow(message);
    expect(() => create(model.cacheShapes(B))).toThrow(expect.toSatisfy(isAttentionError));
    expectSameMemory(before);
  });

  it('says which caches cannot change the places of their entries, and changes nothing', () => {
    const plan: CacheFactory = (shape, layer) =>
      Object.assign(growing(shape), layer === 1 && { select: undefined });
    const cache = new ModelCache(model.cacheShapes(B), plan);
    lastLogits(cache, ids(2));
    expect(() => cache.select([1, 0])).toThrow(/these have none: GrowingCache/);
    expect(() => cache.crop([3, 3])).toThrow(/lengths must not go beyond/);
    expect(cache.lengths).toEqual([2, 2]);
    cache.dispose();
  });
});
