// Beams against all sequences there are, and against a search written down plainly.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { GrowingCache, StaticCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TinyModel, tinyEncoderDecoder, tinyModel } from '../fixtures/attention-models';
import { type GenerateOptions, generate } from './generate';
import { ModelCache } from './model-cache';

const prompts = [[3, 1, 4], [9, 2, 6, 5], [2]];
let model: TinyModel;
beforeAll(() => {
  model = tinyModel();
});
afterAll(() => model.dispose());
beforeEach(({ skip }) => skip(tf.getBackend() === 'tensorflow', 'tokens are chosen on the host'));

/** log softmax behind these tokens, in doubles. */
async function logsBehind(tokens: readonly number[]): Promise<number[]> {
  const logits = tf.tidy(
    () => model.apply(tf.tensor2d([[...tokens]], undefined, 'int32'), { logits: 'last' }).logits,
  );
  const numbers = Array.from(await logits.data());
  logits.dispose();
  const sum = Math.log(numbers.reduce((total, x) => total + Math.exp(x), 0));
  return numbers.map((x) => x - sum);
}

interface Hypothesis {
  readonly tokens: readonly number[];
  readonly sum: number;
}

/** The likeliest sequence of so many tokens, of all there are. */
async function best(prompt: readonly number[], length: number): Promise<Hypothesis> {
  let all: Hypothesis[] = [{ tokens: [], sum: 0 }];
  for (let step = 0; step < length; step++) {
    const longer: Hypothesis[] = [];
    for (const { tokens, sum } of all) {
      const logs = await logsBehind([...prompt, ...tokens]);
      logs.forEach((log, token) => {
        longer.push({ tokens: [...tokens, token], sum: sum + log });
      });
    }
    all = longer;
  }
  return all.reduce((one, other) => (other.sum > one.sum ? other : one));
}

/** A search of one prompt as its definition has it, on all tokens at each step. */
async function search(
  prompt: readonly number[],
  { beams = 1, maxTokens = 1, stopTokens = [], lengthPenalty = 1 }: GenerateOptions,
) {
  let alive: Hypothesis[] = [{ tokens: [], sum: 0 }];
  let ended: (Hypothesis & { readonly score: number })[] = [];
  for (let step = 1; step <= maxTokens; step++) {
    const candidates: Hypothesis[] = [];
    for (const { tokens, sum } of alive)
      for (const [token, log] of (await logsBehind([...prompt, ...tokens])).entries())
        candidates.push({ tokens: [...tokens, token], sum: sum + log });
    candidates.sort((one, other) => other.sum - one.sum);
    const stops = ({ tokens }: Hypothesis) => stopTokens.includes(tokens.at(-1)!);
    const stopped = candidates
      .slice(0, beams)
      .filter(stops)
      .map((hypothesis) => ({ ...hypothesis, score: hypothesis.sum / step ** lengthPenalty }));
    ended = [...ended, ...stopped].sort((one, other) => other.score - one.score).slice(0, beams);
    alive = candidates.filter((hypothesis) => !stops(hypothesis)).slice(0, beams);
    if (ended.length === beams && ended.at(-1)!.score >= candidates[0]!.sum / step ** lengthPenalty)
      return ended[0]!.tokens;
  }
  const all = [
    ...ended,
    ...alive.map((hypothesis) => ({
      ...hypothesis,
      score: hypothesis.sum / hypothesis.tokens.length ** lengthPenalty,
    })),
  ];
  return all.reduce((one, other) => (other.score > one.score ? other : one)).tokens;
}

const cacheOf = {
  none: () => undefined,
  growing: (batch: number) => new ModelCache(model.cacheShapes(batch), (shape) => new GrowingCache(shape)),
  static: (batch: number) =>
    new ModelCache(model.cacheShapes(batch), (shape) => new StaticCache(shape, { capacity: 16 })),
};

describe.each(Object.entries(cacheOf))('beam search, cache: %s', (_, create) => {
  it('finds the likeliest of all sequences where there are beams enough', async () => {
    const cache = create(121);
    const tokens: number[] = [];
    for await (const { token } of generate(model, prompts[0]!, { beams: 121, maxTokens: 3, cache }))
      tokens.push(token);
    expect(tokens).toEqual((await best(prompts[0]!, 3)).tokens);
    cache?.dispose();
  });

  it.each<[string, GenerateOptions]>([
    ['two beams', { beams: 2, maxTokens: 6 }],
    ['stop tokens', { beams: 3, maxTokens: 7, stopTokens: [0, 7] }],
    ['short ones preferred', { beams: 3, maxTokens: 7, stopTokens: [5, 1], lengthPenalty: -1 }],
    ['long ones preferred', { beams: 4, maxTokens: 7, stopTokens: [2], lengthPenalty: 2 }],
  ])('is its definition for each prompt of a batch: %s', async (_name, options) => {
    const cache = create(prompts.length * options.beams!);
    const before = memoryNow();
    const generated = prompts.map((): number[] => []);
    for await (const step of generate(model, prompts, { ...options, cache }))
      step.forEach((own, b) => {
        if (own) generated[b]!.push(own.token);
      });
    cache?.reset();
    if (!cache || cache.self[0] instanceof GrowingCache) expectSameMemory(before);
    for (const [b, prompt] of prompts.entries()) expect(generated[b]).toEqual(await search(prompt, options));
    cache?.dispose();
  });
});

describe('beam search', () => {
  it('of one source is the same with and without a cache', async () => {
    const both = tinyEncoderDecoder();
    const cache = new ModelCache(both.decoder.cacheShapes(6), (shape) => new GrowingCache(shape));
    const results: (number | undefined)[][] = [];
    for (const own of [undefined, cache]) {
      const tokens: (number | undefined)[] = [];
      for await (const step of generate(both, [[4, 2, 7], [8]], { beams: 3, maxTokens: 5, cache: own }))
        tokens.push(...step.map((one) => one?.token));
      results.push(tokens);
    }
    expect(results[1]).toEqual(results[0]);
    cache.dispose();
    both.dispose();
  });

  it('needs caches whose entries can change places', () => {
    const cache = new ModelCache(model.cacheShapes(2), (shape) =>
      Object.assign(new GrowingCache(shape), { select: undefined }),
    );
    expect(() => generate(model, prompts[0]!, { beams: 2, cache })).toThrow(/caches with `select`/);
    cache.dispose();
  });
});
