// Decoders of Hugging Face against what transformers computes with them.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { type AttentionKernel, composed } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GrowingCache, StaticCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type ExpectedDecoder, expectedOf, largestError, loadModel } from '../fixtures/hugging-face-models';
import type { CausalCall, Decoder, LayerCaches } from '../index';

const tolerance = 2e-5;
const names = [
  'llama',
  'llama31-tied',
  'mistral-window',
  'qwen2',
  'qwen3',
  'gemma2',
  'gemma3',
  'smollm3-window',
  'gpt2',
  'gpt-neox',
];
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

/** The tokens behind each prompt, the likeliest at each step. */
function greedy(model: Decoder, prompts: number[][], call: CausalCall): number[][] {
  let next = prompts;
  const tokens: number[][] = prompts.map(() => []);
  for (let step = 0; step < 10; step++) {
    const best = tf.tidy(() =>
      model
        .apply(tensorOf(next), { ...call, logits: 'last' })
        .logits.argMax(-1)
        .arraySync(),
    );
    next = best as number[][];
    for (const [b, row] of tokens.entries()) row.push(next[b]![0]!);
  }
  return tokens;
}

describe.each(names)('%s', (name) => {
  it('gives the logits of transformers, and leaves nothing else', async () => {
    const [model, expected] = [await loadModel<Decoder>(name), expectedOf<ExpectedDecoder>(name)];
    for (const [kind, make] of Object.entries(kernels)) {
      const ids = tensorOf(expected.ids);
      const before = memoryNow();
      const { logits, kernels: ran } = model.apply(ids, { kernel: make() });
      expect(largestError(logits.dataSync(), expected.logits.flat()), kind).toBeLessThan(tolerance);
      expect(ran.join()).toContain(kind);
      logits.dispose();
      expectSameMemory(before);
    }
    model.dispose();
  });

  it.each(Object.keys(caches))('gives the logits token by token with a %s cache', async (kind) => {
    const [model, expected] = [await loadModel<Decoder>(name), expectedOf<ExpectedDecoder>(name)];
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
    model.dispose();
  });

  it.each(Object.keys(caches))('goes on with the tokens of transformers, with a %s cache', async (kind) => {
    const [model, expected] = [await loadModel<Decoder>(name), expectedOf<ExpectedDecoder>(name)];
    for (const kernel of Object.values(kernels)) {
      const cache = caches[kind]!(model, 2);
      expect(greedy(model, expected.ids, { cache, kernel: kernel() })).toEqual(expected.greedy);
      for (const one of cache.self) one.dispose();
    }
    model.dispose();
  });

  it('takes prompts padded at the left, without a cache and with one', async () => {
    const [model, expected] = [await loadModel<Decoder>(name), expectedOf<ExpectedDecoder>(name)];
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
    model.dispose();
  });
});
