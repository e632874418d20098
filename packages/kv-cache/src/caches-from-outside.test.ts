// Caches of other kinds, written over what this package and core export: each decodes what one pass gives.
import { expectClose, expectSameMemory, memoryNow, toHost } from '@polyhead/conformance';
import { allOf, attend, causal, composed, type KeyValueCache, type LayerCall } from '@polyhead/core';
import { attendHeads } from '@polyhead/core/layer';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { LatentCache } from './fixtures/latent-cache';
import { linearAttention, StateCache } from './fixtures/linear-attention';
import { SinkCache, sinksAndWindow } from './fixtures/sink-cache';
import { predictCacheBytes, StaticCache } from './index';

const splits = [[9], [1, 1, 1, 1, 1, 1, 1, 1, 1], [5, 1, 1, 2], [2, 6, 1]];
const random = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 1, 'float32', seed);

function expectSame(actual: tf.Tensor, expected: tf.Tensor): void {
  expectClose({ actual: { output: toHost(actual) }, expected: { output: toHost(expected) } });
}

/** Chunks of S tokens, one after another: the outputs side by side. */
function inChunks(
  sizes: readonly number[],
  axis: number,
  outputOf: (from: number, size: number) => tf.Tensor,
) {
  let from = 0;
  const outputs = sizes.map((size) => {
    from += size;
    return outputOf(from - size, size);
  });
  return outputs.length > 1 ? tf.concat(outputs, axis) : outputs[0]!;
}

describe('a cache of latents', () => {
  const [B, Hq, S] = [2, 3, 9];
  const size = { rotated: 2, latent: 5 };
  const mask = causal();
  const heads = () => {
    const [query, key] = [random([B, Hq, S, 7], 1), random([B, 1, S, 7], 2)] as [tf.Tensor4D, tf.Tensor4D];
    return { query, key, value: tf.slice(key, [0, 0, 0, 2], [B, 1, S, 5]) };
  };

  it.each(splits.map((split) => [split]))('decodes %j as one pass', (split) => {
    const all = heads();
    const cache = new LatentCache(B, size);
    const chunk = (x: tf.Tensor4D, from: number, count: number) =>
      tf.slice(x, [0, 0, from, 0], [-1, -1, count, -1]);
    const output = inChunks(split, 2, (from, count) => {
      const [query, key, value] = [all.query, all.key, all.value].map((x) => chunk(x, from, count));
      const call = { query: query!, key: key!, value: value!, mask, cache, cross: false, kernel: composed() };
      return attendHeads(call).output;
    });
    expectSame(output, attend(composed(), all, { mask }).output);
    expect(cache.byteSize).toBe(predictCacheBytes(LatentCache, cache.shape, { tokens: S }));
    expect(cache.byteSize).toBe(B * S * 7 * 4);
    expect(cache.toJSON()).toEqual({ kind: 'LatentCache', batch: B, size });
    cache.dispose();
  });

  it('may be a StaticCache, where the latent comes first', () => {
    const { query, key } = heads();
    const value = tf.slice(key, [0, 0, 0, 0], [B, 1, S, 5]);
    const cache = new StaticCache({ batch: B, heads: 1, keySize: 7, valueSize: 0 }, { capacity: S });
    const output = inChunks([4, 1, 4], 2, (from, count) => {
      const [q, k, v] = [query, key, value].map((x) => tf.slice(x, [0, 0, from, 0], [-1, -1, count, -1]));
      const call = { query: q!, key: k!, value: v!, mask, cache, cross: false, kernel: composed() };
      return attendHeads(call).output;
    });
    expectSame(output, attend(composed(), { query, key, value }, { mask }).output);
    cache.dispose();
  });
});

describe('a layer', () => {
  const config = { embedDim: 12, numHeads: 4, seed: 1 };
  const decode = (
    layer: MultiHeadAttention | GroupedQueryAttention,
    split: readonly number[],
    call: LayerCall,
  ) => {
    const all = random([2, 9, 12], 3) as tf.Tensor3D;
    return inChunks(split, 1, (from, size) => {
      return layer.apply({ query: tf.slice(all, [0, from, 0], [2, size, 12]) }, call).output;
    });
  };

  it.each(splits.map((split) => [split]))(
    'with a cache of sinks and a window decodes %j as one pass',
    (split) => {
      const layer = new GroupedQueryAttention({ ...config, numKeyValueHeads: 2 });
      const size = { sinks: 2, window: 3 };
      const cache = new SinkCache(layer.cacheShape(2), size);
      const expected = decode(layer, [9], { mask: allOf(causal(), sinksAndWindow(size)) });
      expectSame(decode(layer, split, { cache, mask: causal() }), expected);
      expect(cache).toMatchObject({ lengths: [5, 5], nextOrder: [9, 9], nextPosition: [9, 9] });
      expect(cache.byteSize).toBe(2 * 5 * 2 * 6 * 4);
      expect(cache.read().order).toEqual({ each: Int32Array.of(0, 1, 6, 7, 8, 0, 1, 6, 7, 8) });
      cache.dispose();
      layer.dispose();
    },
  );

  it.each(splits.map((split) => [split]))('with a recurrent state decodes %j as one pass', (split) => {
    const layer = new MultiHeadAttention(config);
    const kernel = linearAttention();
    const cache = new StateCache(layer.cacheShape(2));
    const expected = decode(layer, [9], { kernel, mask: causal() });
    expectSame(decode(layer, split, { kernel, cache, mask: causal() }), expected);
    expect(cache.lengths).toEqual([9, 9]);
    expect(cache.byteSize).toBe(2 * 4 * (3 * 3 + 3) * 4); // whatever the tokens
    cache.dispose();
    layer.dispose();
  });

  it('refuses a state where its kernel takes none', () => {
    const layer = new MultiHeadAttention(config);
    const cache: KeyValueCache = new StateCache(layer.cacheShape(2));
    expect(() => decode(layer, [9], { cache, mask: causal() })).toThrow(/state/);
    expect(cache.lengths).toEqual([0, 0]);
    layer.dispose();
  });
});

describe.each([
  ['StaticCache', (layer: MultiHeadAttention) => new StaticCache(layer.cacheShape(1), { capacity: 4 })],
  ['SinkCache', (layer: MultiHeadAttention) => new SinkCache(layer.cacheShape(1), { sinks: 1, window: 2 })],
])('a layer whose output cannot be projected', (name, create) => {
  it(`leaves a ${name} as it was; tried again, it appends once`, () => {
    const layer = new MultiHeadAttention({ embedDim: 12, numHeads: 4, seed: 1 });
    const cache = create(layer);
    const query = random([1, 1, 12], 3) as tf.Tensor3D;
    const expected = layer.apply({ query }).output;
    const kernel = layer.variables.find((named) => named.name.endsWith('output/kernel'))!.variable;
    const narrow = {
      ...composed(),
      run: (call: Parameters<ReturnType<typeof composed>['run']>[0]) => {
        const { output } = composed().run(call);
        return { output: tf.slice(output, [0, 0, 0, 0], [1, 4, 1, 2]) };
      },
    };
    const before = memoryNow();
    expect(() => layer.apply({ query }, { cache, kernel: narrow })).toThrow();
    expect(cache).toMatchObject({ lengths: [0], nextPosition: [0] });
    expectSameMemory(before);
    expectSame(layer.apply({ query }, { cache }).output, expected);
    expect(cache.lengths).toEqual([1]);
    kernel.dispose();
    expect(() => layer.apply({ query }, { cache })).toThrow(/must not be disposed/);
    expect(cache).toMatchObject({ lengths: [1], nextPosition: [1] });
    cache.dispose();
    layer.dispose();
  });
});
