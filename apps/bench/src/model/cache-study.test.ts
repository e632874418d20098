import { composed } from '@polyhead/core';
import { GrowingCache, QuantizedCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { Decoder } from '@polyhead/transformer';
import { describe, expect, it } from 'vitest';
import { type StudiedCache, studiedCaches, studyCaches } from './cache-study';
import { cacheLines } from './report';

describe('studyCaches', () => {
  it('finds no divergence with an exact cache, some with bits left out, and bytes as predicted', async () => {
    const model = new Decoder(
      {
        ...{ vocabularySize: 20, embedDim: 64, numLayers: 2, seed: 1 },
        norm: { kind: 'rms' },
        feedForward: { hiddenDim: 20, activation: 'silu' },
      },
      { attention: (parts) => new MultiHeadAttention({ embedDim: 64, numHeads: 2, seed: 1 }, parts) },
    );
    const kinds: StudiedCache[] = [
      {
        ...{ name: 'exact', tokens: 24, chunk: 5 },
        create: (shape) => new GrowingCache(shape),
        bytes: (shape, tokens) => GrowingCache.bytesFor(shape, { tokens }),
      },
      {
        ...{ name: 'int4', tokens: 24, chunk: 5 },
        create: (shape) => new QuantizedCache(shape, { keys: 'int4', values: 'int4' }),
        bytes: (shape, tokens) => QuantizedCache.bytesFor(shape, { keys: 'int4', values: 'int4', tokens }),
      },
    ];
    const ids = Array.from({ length: 40 }, (_, n) => (n * 7) % 20);
    const qualities = await studyCaches(model, ids, { kernel: composed(), caches: kinds });
    const [exact, int4] = qualities as [(typeof qualities)[0], (typeof qualities)[0]];
    expect(exact.meanDivergence).toBeLessThan(1e-9);
    expect(exact).toMatchObject({
      agreement: 1,
      bytesPerToken: 2 * 2 * 64 * 4,
      longestContext: 2 ** 30 / 1024,
    });
    expect(int4.meanDivergence).toBeGreaterThan(1e-9);
    expect(int4.bytesPerToken).toBe(2 * 2 * 2 * (16 + 8));
    expect(cacheLines(qualities)).toHaveLength(2 + qualities.length);
    model.dispose();
  });

  it('has a bound for each kind of few bits', () => {
    const bounds = studiedCaches().flatMap(({ name, expected }) => (expected ? [[name, expected]] : []));
    expect(bounds.map(([, bound]) => bound)).toEqual([0.0007, 0.0076, 0.017, 0.08, 0.0024]);
  });
});
