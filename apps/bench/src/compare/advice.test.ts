import { expect, it } from 'vitest';
import { advice } from './advice';
import type { CachedTiming } from './cached-speed';

function mebibytes(n: number) {
  const bytes = n * 2 ** 20;
  return { predicted: bytes, held: bytes, allocated: bytes };
}

const timing = (change: Partial<CachedTiming>): CachedTiming => ({
  phase: 'decode',
  shape: 'llama-2-7b',
  variant: 'multi-head',
  keyValueHeads: 32,
  cache: 'static',
  batch: 1,
  tokens: 1024,
  bytes: mebibytes(32),
  writes: 'rows written in place',
  samples: 5,
  median: 10,
  p10: 9,
  p90: 11,
  tokensPerSecond: 100,
  speedUp: 1,
  error: 1e-7,
  ...change,
});
const grouped = { variant: 'grouped-8', keyValueHeads: 8, bytes: mebibytes(8), speedUp: 1.634 } as const;

const variants = [4, 2, 1].map((keyValueHeads) => ({
  keyValueHeads,
  similarity: { mean: keyValueHeads / 4, p10: 0 },
  parameters: 1,
  cacheBytesPerToken: 1,
}));
const study = {
  sentences: 1,
  tokens: 20,
  layers: [
    { variants, heads: [] },
    { variants, heads: [] },
  ],
};

it('says for the longest context what is saved, how fast it is, and what is kept', () => {
  const timings = [
    timing({ shape: 'gpt-2', tokens: 2048 }),
    timing({ tokens: 64 }),
    timing({ ...grouped, tokens: 64, speedUp: 9 }),
    timing({ cache: 'growing' }),
    timing({ ...grouped, cache: 'growing', speedUp: 8 }),
    timing({}),
    timing(grouped),
    timing({ batch: 4 }),
    timing({ ...grouped, batch: 4, speedUp: 7 }),
  ];
  expect(advice(timings, study)).toBe(
    'For 1,024 tokens of context, grouped-8 saves 24 MiB of 32 MiB a layer and decodes 1.63 × as fast as multi-head ' +
      '(8 instead of 32 key/value heads; Llama-2-7B-like layer, static cache, batch 1); ' +
      "pooled 4 to 1 without training, the published model's layers keep a cosine similarity of 0.25.",
  );
});

it('compares with the pooling nearest to it', () => {
  const half = { ...grouped, variant: 'grouped-6', keyValueHeads: 16 } as const;
  expect(advice([timing({}), timing(half)], study)).toContain('pooled 4 to 2');
  expect(advice([timing({}), timing({ ...half, keyValueHeads: 1 })], study)).toContain('pooled 4 to 1');
});

it('says nothing where no variant has fewer key/value heads', () => {
  expect(advice([timing({})], study)).toBeUndefined();
  expect(advice([timing({}), timing({ variant: 'differential' })], study)).toBeUndefined();
});
