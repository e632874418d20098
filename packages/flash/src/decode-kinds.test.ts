// Decoding from every kind of cache of floats, through a view of it, and from latent rows, whose values are numbers of keys.
import { expectClose, samplePositions, toHost } from '@polyhead/conformance';
import {
  type Attention,
  allOf,
  attend,
  type CacheShape,
  causal,
  composed,
  slidingWindow,
} from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache, PagedCache, PagePool, RingCache, SharedCache, StaticCache } from '@polyhead/kv-cache';
import type { RowCache } from '@polyhead/kv-cache/row-cache';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';

const [B, S, E] = [2, 11, 12];
const kernels = { fused: fusedKernel({ rowsPerTile: 4, keysPerTile: 4 }), composed: composed() };
const chunksOf = [[11], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [4, 1, 6], [3, 1, 1, 4, 2]];

type Make = (shape: CacheShape) => { readonly cache: RowCache; dispose(): void };
const alone = (create: (shape: CacheShape) => RowCache): Make => {
  return (shape) => {
    const cache = create(shape);
    return { cache, dispose: () => cache.dispose() };
  };
};
const pages: Make = (shape) => {
  const pool = new PagePool(shape, { pages: 10, pageSize: 3 });
  const cache = new PagedCache(pool, shape);
  const dispose = () => {
    cache.dispose();
    pool.dispose();
  };
  return { cache, dispose };
};
const writesInPlace = ['cpu', 'wasm'].includes(process.env.POLYHEAD_BACKEND ?? 'cpu');
/** What a cache shows: all, or the newest. */
const kinds: [string, Make, number?][] = [
  ['GrowingCache', alone((shape) => new GrowingCache(shape))],
  ['StaticCache', alone((shape) => new StaticCache(shape, { capacity: S + 2 }))],
  ['RingCache', alone((shape) => new RingCache(shape, { window: 4, sinks: 0, rollback: S })), 4],
  ...(writesInPlace ? [['PagedCache', pages] as [string, Make]] : []),
];

const random = (shape: [number, number, number], seed: number) =>
  tf.randomNormal<tf.Rank.R3>(shape, 0, 1, 'float32', seed);
const maskOf = (window: number | undefined) =>
  window ? allOf(causal(), slidingWindow({ left: window - 1, right: 0 })) : causal();

describe.each(Object.entries(kernels))('%s', (_, kernel) => {
  it.each(kinds)('decodes from a %s and through a view of it, in any chunks', (_name, make, window) => {
    const layer: Attention = new GroupedQueryAttention(
      { embedDim: E, numHeads: 6, numKeyValueHeads: 2, headDim: 5, valueHeadDim: 4, seed: 1 },
      { position: samplePositions(6) },
    );
    const [x, other] = [random([B, S, E], 7), random([B, S, E], 8)];
    const mask = maskOf(window);
    const output = toHost(layer.apply({ query: x }, { mask, kernel: composed() }).output);
    const viewed = toHost(
      layer.apply({ query: other, key: x, cross: false }, { mask, kernel: composed() }).output,
    );
    for (const chunks of chunksOf) {
      const { cache, dispose } = make(layer.cacheShape(B));
      const view = new SharedCache(cache);
      let at = 0;
      const parts = chunks.map((count) => {
        const of = (tokens: tf.Tensor3D) => tf.slice(tokens, [0, at, 0], [B, count, E]);
        const own = layer.apply({ query: of(x) }, { mask: causal(), cache, kernel });
        const through = layer.apply({ query: of(other) }, { mask: causal(), cache: view, kernel });
        expect([own.kernel, through.kernel]).toEqual([kernel.name, kernel.name]);
        at += count;
        return [own.output, through.output] as const;
      });
      const [own, through] = [0, 1].map((n) =>
        toHost(
          tf.concat(
            parts.map((both) => both[n]!),
            1,
          ),
        ),
      );
      expectClose({ actual: { output: own!, viewed: through! }, expected: { output, viewed } });
      dispose();
    }
    layer.dispose();
  });

  it.each(kinds)('decodes from latent rows in a %s, in any chunks', (_name, make, window) => {
    const [heads, keySize, valueSize] = [2, 7, 5];
    const rows = (H: number, seed: number) =>
      tf.randomNormal<tf.Rank.R4>([B, H, S, keySize], 0, 1, 'float32', seed);
    const [query, key] = [rows(4, 3), rows(heads, 4)];
    const value = tf.slice(key, 0, [B, heads, S, valueSize]);
    const mask = maskOf(window);
    const { output } = attend(composed(), { query, key, value }, { mask });
    for (const chunks of chunksOf) {
      const { cache, dispose } = make({ batch: B, heads, keySize, valueSize: 0 });
      let at = 0;
      const parts = chunks.map((count) => {
        const of = (x: tf.Tensor4D) => tf.slice(x, [0, 0, at, 0], [B, x.shape[1], count, x.shape[3]]);
        return tf.tidy(() => {
          const staged = cache.stage({ key: of(key), value: of(value) });
          const inputs = { query: of(query), stored: staged.stored };
          const queryStart = cache.nextOrder; // where what comes first is forgotten, too
          const result = attend(kernel, inputs, { mask: causal(), queryStart });
          expect(result.kernel).toBe(kernel.name);
          staged.commit();
          at += count;
          return result.output;
        });
      });
      expect(cache.read().parts.every((part) => part.value.data === part.key.data)).toBe(true);
      expectClose({ actual: { output: toHost(tf.concat(parts, 2)) }, expected: { output: toHost(output) } });
      dispose();
    }
  });
});
