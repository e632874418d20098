// Decoders of Hugging Face against the logits that transformers computes with them. Their greedy tokens are in
// `generation/golden.test.ts`.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { type AttentionKernel, composed } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GrowingCache, StaticCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  decoders,
  type ExpectedDecoder,
  expectedOf,
  largestError,
  loadModel,
} from '../fixtures/hugging-face-models';
import type { CausalCall, Decoder, LayerCaches } from '../index';

const tolerance = 2e-5;
const kernels: Readonly<Record<string, () => AttentionKernel>> = { composed, flash };

const tensorOf = (ids: number[][]) => tf.tensor2d(ids, undefined, 'int32');

const caches: Readonly<Record<string, (model: Decoder, batch: number) => LayerCaches>> = {
  growing: (model, batch) => ({
    self: model.cacheShapes(batch).self.map((shape) => new GrowingCache(shape)),
  }),
  static: (model, batch) => ({
    self: model.cacheShapes(batch).self.map((shape) => new StaticCache(shape, { capacity: 24 })),
  }),
};

const logitsOf = (model: Decoder, ids: number[][], call: CausalCall = {}) =>
  tf.tidy(() => model.apply(tensorOf(ids), call).logits.dataSync());

describe.each(decoders)('%s', (name) => {
  const expected = expectedOf<ExpectedDecoder>(name);
  let model: Decoder;
  beforeAll(async () => {
    model = await loadModel<Decoder>(name);
  });
  afterAll(() => model.dispose());

  it('gives the logits of transformers, and leaves nothing else', () => {
    for (const [kind, make] of Object.entries(kernels)) {
      const ids = tensorOf(expected.ids);
      const before = memoryNow();
      const { logits, kernels: ran } = model.apply(ids, { kernel: make() });
      expect(largestError(logits.dataSync(), expected.logits.flat()), kind).toBeLessThan(tolerance);
      expect(ran.join()).toContain(kind);
      logits.dispose();
      expectSameMemory(before);
    }
  });

  it.each(Object.keys(caches))('gives the logits token by token with a %s cache', (kind) => {
    for (const kernel of Object.values(kernels)) {
      const cache = caches[kind]!(model, 2);
      const part = (from: number, to: number) =>
        logitsOf(
          model,
          expected.ids.map((row) => row.slice(from, to)),
          { cache, kernel: kernel() },
        );
      const parts = [part(0, 5), ...[5, 6, 7, 8, 9, 10].map((at) => part(at, at + 1))];
      const V = model.vocabularySize;
      const rows = [0, 1].flatMap((b) =>
        parts.flatMap((numbers) => [
          ...numbers.slice((b * numbers.length) / 2, ((b + 1) * numbers.length) / 2),
        ]),
      );
      expect(rows.length).toBe(2 * 11 * V);
      expect(largestError(rows, expected.logits.flat())).toBeLessThan(tolerance);
      for (const one of cache.self) one.dispose();
    }
  });

  it('takes prompts padded at the left, without a cache and with one', () => {
    const { ids, counts: leftPadding, lastLogits } = expected.leftPadded;
    for (const kernel of Object.values(kernels)) {
      const cache = caches.growing!(model, 2);
      const call = { leftPadding, kernel: kernel() };
      const last = { ...call, logits: 'last' } as const;
      expect(largestError(logitsOf(model, ids, last), lastLogits.flat())).toBeLessThan(tolerance);
      logitsOf(
        model,
        ids.map((row) => row.slice(0, 6)),
        { ...last, cache },
      );
      const numbers = logitsOf(
        model,
        ids.map((row) => row.slice(6)),
        { ...last, cache },
      );
      expect(largestError(numbers, lastLogits.flat())).toBeLessThan(tolerance);
      for (const one of cache.self) one.dispose();
    }
  });
});
