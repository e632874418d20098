// Caches by what each layer keeps, as a model's own config says: windows of Gemma 2 and 3, of Mistral and SmolLM3.
import { composed, type KeyValueCache } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import {
  GrowingCache,
  PagedCache,
  PagePool,
  QuantizedCache,
  RingCache,
  StaticCache,
} from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type ExpectedDecoder, expectedOf, loadModel } from '../fixtures/hugging-face-models';
import type { Decoder } from '../models/decoder';
import type { DecoderConfig } from '../models/decoder-config';
import { cachePlan, type LayerKinds } from './cache-plan';
import { generate } from './generate';
import { ModelCache } from './model-cache';

const kernels = { composed, flash };

describe.each(['gemma2', 'gemma3', 'mistral-window', 'smollm3-window'])('%s, by its own config', (name) => {
  it.each(Object.entries(kernels))(
    'goes on with the tokens of transformers, windows in rings: %s',
    async (_, kernel) => {
      const [model, expected] = [await loadModel<Decoder>(name), expectedOf<ExpectedDecoder>(name)];
      const plan = cachePlan(model.config, {
        full: (shape) => new StaticCache(shape, { capacity: 24 }),
        window: (shape, size) => new RingCache(shape, { window: size, sinks: 0, rollback: 3 }),
      });
      const cache = new ModelCache(model.cacheShapes(2), plan);
      const rings = cache.self.filter((layer) => layer instanceof RingCache).length;
      expect(rings).toBe([model.config.windows].flat().filter((size) => (size ?? 0) > 0).length);
      const tokens: number[][] = [[], []];
      for await (const step of generate(model, expected.ids, { cache, maxTokens: 10, kernel: kernel() }))
        for (const [b, one] of step.entries()) tokens[b]!.push(one!.token);
      expect(tokens).toEqual(expected.greedy);
      cache.dispose();
      model.dispose();
    },
  );
});

describe('cachePlan', () => {
  it('makes each layer of its own shape: other heads, latent rows, pages and words', () => {
    const shapes = {
      self: [
        { batch: 1, heads: 2, keySize: 4, valueSize: 4 },
        { batch: 1, heads: 1, keySize: 12, valueSize: 0 },
        { batch: 1, heads: 8, keySize: 2, valueSize: 6 },
      ],
      cross: [{ batch: 1, heads: 3, keySize: 4, valueSize: 4 }],
    };
    const writesInPlace = ['cpu', 'wasm'].includes(tf.getBackend());
    const layers: number[] = [];
    const kinds: LayerKinds<KeyValueCache> = {
      full(shape, layer) {
        layers.push(layer);
        return new GrowingCache(shape);
      },
      window: (shape, size) => new StaticCache(shape, { capacity: size }),
    };
    const cache = new ModelCache(shapes, cachePlan({ windows: [0, null, 6] }, kinds));
    expect(cache.self.map((layer) => layer.constructor)).toEqual([GrowingCache, GrowingCache, StaticCache]);
    expect([layers, cache.cross!.map(({ shape }) => shape)]).toEqual([[0, 1, 0], shapes.cross]);
    expect(cache.byteSize).toBe(6 * 8 * 8 * 4);
    cache.dispose();
    if (!writesInPlace) return;
    const pool = new PagePool(shapes.self[0]!, { pages: 2 });
    const mixed = new ModelCache({ ...shapes, cross: [] }, [
      (shape) => new PagedCache(pool, shape),
      (shape) => new StaticCache(shape, { capacity: 3 }),
      (shape) => new QuantizedCache(shape, { keys: 'int4' }),
    ]);
    expect(mixed.byteSize).toBe(3 * 12 * 4);
    mixed.dispose();
    pool.dispose();
  });

  it('takes one window for all layers, and keeps all where nothing is made for windows', () => {
    const of = (windows: DecoderConfig['windows'], window?: LayerKinds<number>['window']) => {
      const plan = cachePlan({ windows }, { full: () => -1, ...(window && { window }) });
      const shape = { batch: 1, heads: 1, keySize: 1, valueSize: 1 };
      return [0, 1].map((layer) => plan.self(shape, layer, []));
    };
    expect(of(5, (_, size) => size)).toEqual([5, 5]);
    expect(of(undefined, () => 0)).toEqual([-1, -1]);
    expect(of([5, 0])).toEqual([-1, -1]);
  });
});
