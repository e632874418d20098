// What follows a prompt, against the tokens that transformers gives: tiny models of all families of decoders.
import { type AttentionKernel, composed } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GrowingCache, StaticCache } from '@polyhead/kv-cache';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  decoders,
  type ExpectedDecoder,
  type ExpectedSequenceToSequence,
  expectedOf,
  largestError,
  loadModel,
} from '../fixtures/hugging-face-models';
import type { CausalModel, Decoder, EncoderDecoder } from '../index';
import { type GenerateOptions, generate } from './generate';
import { ModelCache } from './model-cache';

const tolerance = 2e-5;

const caches = {
  none: () => undefined,
  growing: (model: CausalModel, batch: number) =>
    new ModelCache(model.cacheShapes(batch), (shape) => new GrowingCache(shape)),
  static: (model: CausalModel, batch: number) =>
    new ModelCache(model.cacheShapes(batch), (shape) => new StaticCache(shape, { capacity: 24 })),
};

/** On tensorflow, where small operations take long, the logits of `families/decoders.test.ts` have the other ones. */
const tried = process.env.POLYHEAD_BACKEND === 'tensorflow' ? { static: caches.static } : caches;

async function stepsOf(model: Decoder, prompts: number[][], options: GenerateOptions) {
  const tokens = prompts.map((): number[] => []);
  let first: (Float32Array | undefined)[] = [];
  for await (const step of generate(model, prompts, { ...options, logits: true })) {
    if (first.length === 0) first = step.map((own) => own?.logits);
    step.forEach((own, b) => {
      tokens[b]!.push(own!.token);
    });
  }
  return { tokens, first };
}

describe.each(decoders)('%s', (name) => {
  const expected = expectedOf<ExpectedDecoder>(name);
  let model: Decoder;
  let kernels: AttentionKernel[];
  beforeAll(async () => {
    model = await loadModel<Decoder>(name);
    const fused = flash();
    await fused.prepare?.();
    kernels = [composed(), fused];
  });
  afterAll(() => model.dispose());

  it.each(Object.entries(tried))('gives the greedy tokens of transformers, cache: %s', async (_, create) => {
    for (const kernel of kernels) {
      const cache = create(model, 2);
      const { tokens } = await stepsOf(model, expected.ids, { maxTokens: 10, cache, kernel });
      expect(tokens, kernel.name).toEqual(expected.greedy);
      cache?.dispose();
    }
  });

  it.each(Object.entries(tried))(
    'gives prompts of other lengths what padding at the left gives them, cache: %s',
    async (_, create) => {
      const { ids, counts, lastLogits } = expected.leftPadded;
      const prompts = ids.map((row, b) => row.slice(counts[b]));
      const cache = create(model, 2);
      const chunkSize = cache && 4; // windows and padding meet within a prompt
      const { first } = await stepsOf(model, prompts, {
        maxTokens: 1,
        cache,
        ...(chunkSize && { chunkSize }),
      });
      for (const [b, logits] of first.entries())
        expect(largestError(logits!, lastLogits[b]!)).toBeLessThan(tolerance);
      cache?.dispose();
    },
  );
});

describe.each(['t5', 'marian'])('%s', (name) => {
  const { source, sourceLengths, target, logits } = expectedOf<ExpectedSequenceToSequence>(name);
  let model: EncoderDecoder;
  beforeAll(async () => {
    model = await loadModel<EncoderDecoder>(name);
  });
  afterAll(() => model.dispose());

  it.each(Object.entries(caches))(
    'scores targets of sources of other lengths as transformers, cache: %s',
    async (_, create) => {
      const sources = source.map((row, b) => row.slice(0, sourceLengths[b]));
      for (const [entry, tokens] of target.entries()) {
        const start = tokens.slice(0, 3); // both sources go on from it, one of them is expected to
        const cache = create(model.decoder, 2);
        const together = sources.map((): number[] => []);
        let first: Float32Array | undefined;
        for await (const step of generate(model, sources, { start, cache, maxTokens: 4, logits: true })) {
          first ??= step[entry]!.logits!;
          step.forEach((own, b) => {
            together[b]!.push(own!.token);
          });
        }
        expect(largestError(first!, logits[entry * tokens.length + 2]!)).toBeLessThan(tolerance);
        for (const [b, own] of sources.entries()) {
          const alone: number[] = [];
          for await (const { token } of generate(model, own, { start, maxTokens: 4 })) alone.push(token);
          expect(together[b]).toEqual(alone);
        }
        cache?.dispose();
      }
    },
  );
});
