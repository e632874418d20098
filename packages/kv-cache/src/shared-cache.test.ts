// A view of another layer's keys and values: what it shows, what it refuses, and that it holds nothing.
import { expectClose, expectSameMemory, memoryNow, samplePositions, toHost } from '@polyhead/conformance';
import { type Attention, allOf, causal, fromConfig, isAttentionError, leftPadding } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { append, marks, rows, shape } from './fixtures/marked-rows';
import {
  cacheToBytes,
  GrowingCache,
  predictCacheBytes,
  QuantizedCache,
  RingCache,
  SharedCache,
  StaticCache,
} from './index';
import type { RowCache } from './row-cache';

const E = 12;
const mask = causal();
const layerOf = (seed: number) =>
  new MultiHeadAttention({ embedDim: E, numHeads: 3, seed }, { position: samplePositions(3) });
const random = (B: number, S: number, seed: number) =>
  tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', seed);
const part = (x: tf.Tensor3D, b: number, S: number) => tf.slice(x, [b, 0, 0], [1, S, E]);

describe('SharedCache', () => {
  it('shows what its source holds, through another view, too', () => {
    const source = new StaticCache(shape, { capacity: 8 });
    const view = new SharedCache(new SharedCache(source));
    expect(view.source).toBe(source);
    append(source, { ...rows(3, 7), lengths: [3, 1], positions: { start: [4, 0] } });
    expect(view).toMatchObject({
      lengths: [3, 1],
      nextOrder: [3, 1],
      nextPosition: [7, 1],
      sealed: true,
      shape,
    });
    expect(marks(view.read())).toEqual([[7, 7, 7], [7]]);
    expect(view.read().parts[0]!.key.data).toBe(source.read().parts[0]!.key.data); // no copy
    const stored = view.read();
    source.crop([1, 1]);
    expect(() => stored.parts).toThrow(/the cache has changed since/);
    view.dispose();
    expect(view.lengths).toEqual([1, 1]);
    source.dispose();
    expect(() => view.read()).toThrow(/must not be disposed/);
  });

  it('holds no bytes, and is written as its source', () => {
    const source = new GrowingCache(shape);
    append(source, rows(2));
    const before = memoryNow();
    const view = new SharedCache(source);
    expectSameMemory(before);
    expect([view.byteSize, predictCacheBytes(SharedCache, shape, {})]).toEqual([0, 0]);
    const again = fromConfig<SharedCache>(JSON.parse(JSON.stringify(view)), [SharedCache, GrowingCache]);
    expect(again.toJSON()).toEqual(view.toJSON());
    expect([again.lengths, again.shape]).toEqual([[0, 0], shape]);
    source.dispose();
  });

  it.each<[string, (view: SharedCache) => unknown, RegExp]>([
    ['new rows', (view) => view.stage(), /call it with a query alone/],
    ['select', (view) => view.select([1, 0]), /select in its source/],
    ['reset', (view) => view.reset(), /reset its source/],
    ['a fork without a source', (view) => view.fork(), /fork its source, and give the fork/],
    ['crop', (view) => view.crop([1, 2]), /crop its source/],
  ])('refuses %s, and says whom to ask', (_, use, message) => {
    const source = new GrowingCache(shape);
    append(source, rows(2));
    const view = new SharedCache(source);
    expect(() => use(view)).toThrow(message);
    expect(() => use(view)).toThrow(expect.toSatisfy(isAttentionError));
    view.crop([2, 2]);
    view.seal();
    expect([source.lengths, source.sealed]).toEqual([[2, 2], false]);
    source.dispose();
  });

  it('is no cache to write down, nor made of what is none', async () => {
    const view = new SharedCache(new GrowingCache(shape));
    await expect(cacheToBytes(view as unknown as RowCache)).rejects.toThrow(/a view holds no rows/);
    for (const source of [undefined, {}, shape])
      expect(() => new SharedCache(source as never)).toThrow(/source must be a cache/);
  });

  it('leaves its source bound to the layer that writes', () => {
    const [first, second] = [layerOf(1), layerOf(2)];
    const cache = new GrowingCache(first.cacheShape(1));
    const query = random(1, 3, 1);
    first.apply({ query }, { mask, cache });
    expect(() => second.apply({ query }, { mask, cache })).toThrow(/a cache serves one layer/);
    const view = new SharedCache(cache);
    expect(second.apply({ query }, { mask, cache: view }).output.shape).toEqual([1, 3, E]);
    expect(() => second.apply({ query, key: query, cross: false }, { mask, cache: view })).toThrow(
      /only shows another layer's rows/,
    );
    expect(() => second.apply({ query, cross: true }, { mask, cache: view })).toThrow(
      /shows the same tokens/,
    );
    first.apply({ query }, { mask, cache });
    expect(cache.lengths).toEqual([6]);
    for (const one of [first, second, cache]) one.dispose();
  });

  it('takes tokens padded at either side', () => {
    const layer = layerOf(3);
    const [keys, queries] = [random(2, 5, 4), random(2, 5, 5)];
    const alone = (key: tf.Tensor3D, query: tf.Tensor3D) =>
      layer.apply({ query, key, cross: false }, { mask }).output as tf.Tensor3D;
    const counts = [2, 4];
    const view = (attention: Attention) => new SharedCache(new GrowingCache(attention.cacheShape(2)));

    const right = view(layer);
    const lengths = counts;
    layer.apply({ query: keys }, { mask, cache: right.source, lengths });
    const { output } = layer.apply({ query: queries }, { mask, cache: right, lengths });
    for (const [b, count] of counts.entries())
      expectClose({
        actual: { output: toHost(part(output, b, count)) },
        expected: { output: toHost(alone(part(keys, b, count), part(queries, b, count))) },
      });
    expect(() => layer.apply({ query: queries }, { mask, cache: right, lengths: [2] })).toThrow(
      /lengths must count tokens of the query/,
    );

    const left = view(layer);
    const pads = counts.map((count) => 5 - count);
    const hidden = { mask: allOf(mask, leftPadding(pads)), positions: [{ start: pads.map((n) => -n) }] };
    layer.apply({ query: keys }, { ...hidden, cache: left.source });
    const padded = layer.apply({ query: queries }, { ...hidden, cache: left }).output;
    for (const [b, count] of counts.entries()) {
      const tokens = (x: tf.Tensor3D) => tf.slice(x, [b, 5 - count, 0], [1, count, E]);
      expectClose({
        actual: { output: toHost(tokens(padded)) },
        expected: { output: toHost(alone(tokens(keys), tokens(queries))) },
      });
    }
    for (const { source } of [left, right]) source.dispose();
    layer.dispose();
  });

  it('refuses tokens that its source has not, or of which it has forgotten what they see', () => {
    const layer = layerOf(4);
    const empty = new SharedCache(new GrowingCache(layer.cacheShape(1)));
    const call = (cache: SharedCache, S: number) => () =>
      layer.apply({ query: random(1, S, 6) }, { mask, cache }).output;
    expect(call(empty, 1)).toThrow(/the layer of its source comes first/);
    const ring = new SharedCache(new RingCache(layer.cacheShape(1), { window: 4, rollback: 3 }));
    layer.apply({ query: random(1, 20, 7) }, { mask, cache: ring.source });
    expect(call(ring, 4)).toThrow(/a view must show all that the tokens of a call see\n.*\n(.*\n)*.*3/);
    expect(call(ring, 3)().shape).toEqual([1, 3, E]);
    for (const { source } of [empty, ring]) source.dispose();
    layer.dispose();
  });

  it('shows words as they are kept', () => {
    const layer = layerOf(5);
    const cache = new QuantizedCache(layer.cacheShape(1));
    const [keys, query] = [random(1, 6, 8), random(1, 6, 9)];
    layer.apply({ query: keys }, { mask, cache });
    const { key, value } = cache.read().materialize();
    const floats = new GrowingCache(cache.shape);
    tf.tidy(() => floats.stage({ key, value }).commit());
    const through = (source: RowCache) =>
      toHost(layer.apply({ query }, { mask, cache: new SharedCache(source) }).output);
    expectClose({ actual: { output: through(cache) }, expected: { output: through(floats) } });
    for (const one of [layer, cache, floats]) one.dispose();
  });
});
