// What `generate` gives, against the model called by hand on all tokens at each step.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { isAttentionError } from '@polyhead/core';
import { GrowingCache, StaticCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TinyModel, tinyEncoderDecoder, tinyModel } from '../fixtures/attention-models';
import type { CausalModel } from '../models/causal-model';
import { type GenerateOptions, generate } from './generate';
import { ModelCache } from './model-cache';
import { tokenAt, tokenProbabilities } from './next-token';
import { uniform } from './uniform';

const prompts = [
  [3, 1, 4, 1, 5],
  [9, 2],
  [6, 5, 3],
];
const caches = {
  none: () => undefined,
  growing: (model: CausalModel, batch: number) =>
    new ModelCache(model.cacheShapes(batch), (shape) => new GrowingCache(shape)),
  static: (model: CausalModel, batch: number) =>
    new ModelCache(model.cacheShapes(batch), (shape) => new StaticCache(shape, { capacity: 24 })),
};

let model: TinyModel;
beforeAll(() => {
  model = tinyModel();
});
afterAll(() => model.dispose());

const known = new Map<string, Float32Array>();
/** Logits behind these tokens, of one call on all of them. */
async function logitsBehind(tokens: readonly number[]): Promise<Float32Array> {
  const ids = tf.tensor2d([[...tokens]], undefined, 'int32');
  const numbers =
    known.get(`${tokens}`) ?? (await model.apply(ids, { logits: 'last' }).logits.data()).slice();
  known.set(`${tokens}`, numbers as Float32Array);
  return numbers as Float32Array;
}

/** The definition: logits of all tokens so far, filtered, drawn. */
async function byHand(prompt: readonly number[], entry: number, options: GenerateOptions): Promise<number[]> {
  const { maxTokens = 8, stopTokens = [], seed = 0, ...rest } = options;
  const { temperature, topK, topP, minP, repetitionPenalty } = rest;
  const tokens = [...prompt];
  for (let step = 0; step < maxTokens; step++) {
    const sampling = { temperature, topK, topP, minP, repetitionPenalty };
    const token = tokenAt(
      tokenProbabilities(await logitsBehind(tokens), sampling, tokens),
      uniform(seed, entry, step),
    );
    tokens.push(token);
    if (stopTokens.includes(token)) break;
  }
  return tokens.slice(prompt.length);
}

async function tokensOf(prompt: readonly number[], options: GenerateOptions): Promise<number[]> {
  const tokens: number[] = [];
  for await (const { token } of generate(model, prompt, options)) tokens.push(token);
  return tokens;
}

async function batchOf(options: GenerateOptions): Promise<number[][]> {
  const tokens = prompts.map((): number[] => []);
  for await (const step of generate(model, prompts, options))
    step.forEach((own, b) => {
      if (own) tokens[b]!.push(own.token);
    });
  return tokens;
}

const ways: Record<string, GenerateOptions> = {
  greedy: {},
  'with a temperature': { temperature: 1.3, seed: 3 },
  'with all filters': { temperature: 2, topK: 7, topP: 0.9, minP: 0.02, repetitionPenalty: 1.3, seed: 4 },
  'with stop tokens': { temperature: 1.5, seed: 5, stopTokens: [0, 7] },
};

describe.each(Object.entries(caches))('generate, cache: %s', (name, create) => {
  it.each(Object.entries(ways))('gives the tokens of the definition, %s', async (_, options) => {
    const cache = create(model, 1);
    const tokens = await tokensOf(prompts[0]!, { maxTokens: 8, ...options, cache });
    expect(tokens).toEqual(await byHand(prompts[0]!, 0, { maxTokens: 8, ...options }));
    if (cache) expect(cache.lengths).toEqual([prompts[0]!.length + tokens.length - 1]);
    cache?.dispose();
  });

  it.each(Object.entries(ways))(
    'gives each prompt of a batch what it gives alone, %s',
    async (_, options) => {
      const cache = create(model, prompts.length);
      const tokens = await batchOf({ maxTokens: 8, ...options, cache });
      for (const [b, prompt] of prompts.entries())
        expect(tokens[b]).toEqual(await byHand(prompt, b, { maxTokens: 8, ...options }));
      if (cache)
        expect(cache.lengths).toEqual(prompts.map(({ length }, b) => length + tokens[b]!.length - 1));
      cache?.dispose();
    },
  );

  it('leaves no tensor, also where the consumer leaves, the signal does, and the model throws', async () => {
    const cache = create(model, 1);
    const run = async (steps: number, options: GenerateOptions = {}) => {
      for await (const _ of generate(model, prompts[0]!, { maxTokens: 3, cache, ...options }))
        if (--steps === 0) break;
    };
    await run(3);
    cache?.reset();
    const before = memoryNow();
    await run(1);
    const stop = new AbortController();
    stop.abort(new Error('enough'));
    await expect(run(3, { signal: stop.signal })).rejects.toThrow('enough');
    model.failure = new Error('broken');
    await expect(run(3)).rejects.toThrow('broken');
    model.failure = undefined;
    cache?.reset();
    expectSameMemory(before);
    cache?.dispose();
  });

  if (name === 'none') return;

  it.each([1, 2, 3, 50])('reads prompts in chunks of %s, to the same tokens', async (chunkSize) => {
    const cache = create(model, prompts.length);
    model.calls.length = 0;
    const tokens = await batchOf({ maxTokens: 4, cache, chunkSize });
    expect(Math.max(...model.calls.map(([, S]) => S))).toBe(Math.min(chunkSize, 5));
    for (const [b, prompt] of prompts.entries())
      expect(tokens[b]).toEqual(await byHand(prompt, b, { maxTokens: 4 }));
    cache?.dispose();
  });

  it('goes on where it was ended: by its signal between chunks, and by an error in a layer', async () => {
    const cache = create(model, 1)!;
    const stop = new AbortController();
    const received: number[] = [];
    const attempt = async () => {
      for await (const { token } of generate(model, prompts[0]!, {
        maxTokens: 8,
        cache,
        signal: stop.signal,
      })) {
        received.push(token);
        if (received.length === 3) stop.abort(new Error('enough'));
      }
    };
    await expect(attempt()).rejects.toThrow('enough');
    const lengths = () => cache.self.map((layer) => layer.lengths[0]);
    expect(lengths()).toEqual([7, 7]);
    model.failure = new Error('broken');
    await expect(tokensOf([received.at(-1)!], { cache })).rejects.toThrow('broken');
    model.failure = undefined;
    expect(lengths()).toEqual([7, 7]);
    const rest = await tokensOf([received.at(-1)!], { maxTokens: 5, cache });
    expect([...received, ...rest]).toEqual(await byHand(prompts[0]!, 0, { maxTokens: 8 }));
    cache.dispose();
  });
});

describe('generate', () => {
  it('draws other tokens than the likeliest, and others from another seed', async () => {
    const drawn = (seed: number) => tokensOf(prompts[0]!, { maxTokens: 8, temperature: 1.3, seed });
    const texts = new Set([
      `${await tokensOf(prompts[0]!, { maxTokens: 8 })}`,
      `${await drawn(3)}`,
      `${await drawn(4)}`,
    ]);
    expect(texts.size).toBe(3);
  });

  it('comes with logits where they are wanted', async () => {
    const [tokens, rows] = [[...prompts[0]!], [] as Float32Array[]];
    for await (const { token, logits } of generate(model, prompts[0]!, { maxTokens: 2, logits: true })) {
      rows.push(logits!);
      tokens.push(token);
    }
    expect(rows).toEqual([await logitsBehind(tokens.slice(0, 5)), await logitsBehind(tokens.slice(0, 6))]);
    for await (const step of generate(model, prompts[0]!, { maxTokens: 1 }))
      expect(Object.keys(step)).toEqual(['token']);
  });

  it('draws anew at each call without a seed', async () => {
    const texts = new Set<string>();
    for (let n = 0; n < 8; n++) texts.add(`${await tokensOf([2], { maxTokens: 8, temperature: 10 })}`);
    expect(texts.size).toBeGreaterThan(1);
  });

  it('gives as many tokens as there are positions', async () => {
    const short = tinyModel({ maxLength: 7 });
    const tokens: number[] = [];
    for await (const { token } of generate(short, prompts[0]!)) tokens.push(token);
    expect(tokens).toHaveLength(3); // the last is given, not read
    expect(() => generate(short, prompts[0]!, { maxTokens: 4 })).toThrow(
      /must fit the positions of the model/,
    );
    short.dispose();
  });

  it.each<[number[] | number[][], GenerateOptions | object, RegExp]>([
    [[], {}, /ids must be tokens/],
    [[[1], []], {}, /ids must be tokens/],
    [[11], {}, /numbers of the model's vocabulary/],
    [[1.5], {}, /numbers of the model's vocabulary/],
    [[1], { maxTokens: 0 }, /maxTokens must be/],
    [[1], { topK: 3 }, /filters need a temperature/],
    [[1], { chunkSize: 3 }, /chunkSize needs a cache/],
    [[1], { beams: 2, temperature: 1 }, /a beam search draws no tokens/],
    [[1], { lengthPenalty: 2 }, /lengthPenalty needs beams/],
    [[1], { start: [1] }, /start is for models that read a source/],
    [[1], { max_tokens: 3 }, /known options only/],
    [[1], { seed: 0.5 }, /seed must be/],
  ])('refuses %j with %j at once', (ids, options, message) => {
    const attempt = () => generate(model, ids as number[], options);
    expect(attempt).toThrow(message);
    expect(attempt).toThrow(expect.toSatisfy(isAttentionError));
  });

  it('refuses a cache of other sizes', () => {
    const cache = caches.growing(model, 2);
    expect(() => generate(model, [1], { cache })).toThrow(/the cache must fit/);
    cache.dispose();
  });
});

describe('generate from a source', () => {
  const sources = [[4, 2, 7], [8]];

  it.each(Object.entries(caches))(
    'reads it once where there is a cache (%s), and leaves no tensor',
    async (_, create) => {
      const both = tinyEncoderDecoder();
      const before = memoryNow();
      const alone: number[][] = [];
      for (const source of sources) {
        const cache = create(both.decoder, 1);
        const tokens: number[] = [];
        for await (const { token } of generate(both, source, { maxTokens: 6, cache })) tokens.push(token);
        alone.push(tokens);
        cache?.dispose();
      }
      const cache = create(both.decoder, 2);
      const batch = sources.map((): number[] => []);
      for await (const step of generate(both, sources, { maxTokens: 6, cache }))
        step.forEach((own, b) => {
          batch[b]!.push(own!.token);
        });
      expect(batch).toEqual(alone);
      if (cache) {
        expect(cache.cross!.every(({ sealed }) => sealed)).toBe(true);
        expect(() => generate(both, sources, { cache })).toThrow(/must be empty|is empty/);
        cache.dispose();
      }
      for await (const _ of generate(both, sources[0]!, {})) break;
      expectSameMemory(before);
      both.dispose();
    },
  );

  it('begins with `start`, which the model may not name', async () => {
    const both = tinyEncoderDecoder();
    const unnamed = { ...both, startToken: undefined };
    expect(() => generate(unnamed, sources[0]!)).toThrow(/start must name/);
    const [named, started] = [[] as number[], [] as number[]];
    for await (const { token } of generate(both, sources[0]!, { maxTokens: 3 })) named.push(token);
    for await (const { token } of generate(unnamed, sources[0]!, { maxTokens: 3, start: [1] }))
      started.push(token);
    expect(started).toEqual(named);
    both.dispose();
  });
});
