// What encoders keep and refuse, alone and before a decoder.
import { memoryNow } from '@polyhead/conformance';
import { GrowingCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { attention, cachesOf, config, ids, numbers } from '../fixtures/small-models';
import { Decoder, Embedding, Encoder, EncoderDecoder } from '../index';

describe('Encoder', () => {
  it('reads no padding, and no longer source than it has positions', () => {
    const { seed: _, ...rest } = config;
    const model = new Encoder({ ...rest, seed: 5, numSegments: 2 }, { attention });
    const padded = model.apply(ids([1, 2, 3], [4, 5, 0]), { lengths: [3, 2] }).output;
    const alone = model.apply(ids([4, 5])).output;
    expect(numbers(padded).slice(24, 40)).toEqual(numbers(alone).map((x) => expect.closeTo(x, 5)));
    const [first, second] = [0, 1].map((n) =>
      numbers(model.apply(ids([1, 2]), { segments: ids([n, n]) }).output),
    );
    expect(first).toEqual(numbers(model.apply(ids([1, 2])).output).map((x) => expect.closeTo(x, 6)));
    expect(second).not.toEqual(first);
    expect(() => model.apply(ids([1, 2]), { segments: ids([0]) })).toThrow(/segments must be int32 \[B, S\]/);
    expect(() => model.apply(tf.zeros([1, 17], 'int32'))).toThrow(/must not be longer than the model/);
  });
});

describe('EncoderDecoder', () => {
  it('shares a table, and needs cross-attention', () => {
    const embedding = new Embedding({ vocabularySize: 11, embedDim: 8, seed: 1 }, { name: 'embedding' });
    const encoder = new Encoder(config, { attention, embedding, name: 'encoder' });
    const decoder = new Decoder(
      { ...config, head: 'tied' },
      { attention, crossAttention: attention, embedding, name: 'decoder' },
    );
    const model = new EncoderDecoder({ startToken: 0 }, { encoder, decoder });
    expect(model.variables.filter(({ name }) => name.endsWith('/table')).length).toBe(1);
    expect(() => model.decoder.apply(ids([1, 2]))).toThrow(/needs a memory, or a sealed cache/);
    const before = memoryNow();
    const cache = cachesOf(decoder, 1, (shape) => new GrowingCache(shape));
    const { output: memory } = model.encode(ids([1, 2, 3]));
    // The target fails behind the first block's cross-attention: its cache is open again.
    const call = {
      cache: {
        ...cache,
        self: [cache.self[0]!, ...cachesOf(decoder, 2, (shape) => new GrowingCache(shape)).self.slice(1)],
      },
      memory,
    };
    expect(() => decoder.apply(ids([1, 2]), call)).toThrow();
    expect(cache.cross!.map((one) => [one.sealed, ...one.lengths])).toEqual([
      [false, 0],
      [false, 0],
      [false, 0],
    ]);
    expect(cache.self[0]!.lengths).toEqual([0]);
    expect(memoryNow().numTensors).toBeGreaterThanOrEqual(before.numTensors);
    expect(() => new EncoderDecoder({}, { encoder, decoder: new Decoder(config, { attention }) })).toThrow(
      /must have cross-attention/,
    );
    model.dispose();
  });
});
