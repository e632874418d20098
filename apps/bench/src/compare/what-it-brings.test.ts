import { expect, it } from 'vitest';
import type { CachedTiming } from './cached-speed';
import { shapes } from './shapes';
import { variants } from './variants';
import { broughtLines, whatItBrings } from './what-it-brings';

const shape = shapes.find(({ name }) => name === 'llama-2-7b')!;
const cases = { shape, variants };
const bytes = (MiB: number) => ({
  predicted: MiB * 2 ** 20,
  held: MiB * 2 ** 20,
  allocated: MiB * 2 ** 20,
});

const timing = (change: Partial<CachedTiming>): CachedTiming => ({
  phase: 'decode',
  shape: 'llama-2-7b',
  variant: 'multi-head',
  kernel: 'flashWasm',
  keyValueHeads: 32,
  cache: 'static',
  batch: 1,
  tokens: 1024,
  bytes: bytes(32),
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
const grouped = { variant: 'grouped-8', keyValueHeads: 8, bytes: bytes(8), median: 8, tokensPerSecond: 125 };
const plain = { kernel: 'composed', median: 25, tokensPerSecond: 40, error: 3e-7 };

const timings = [
  timing({ shape: 'gpt-2', tokens: 2048 }),
  timing({ phase: 'prefill', tokens: 4096 }),
  timing({ tokens: 64 }),
  timing({ ...grouped, tokens: 64, median: 1 }),
  timing({ cache: 'growing', median: 99 }),
  timing({ ...grouped, cache: 'growing' }),
  timing({}),
  timing(grouped),
  timing({ ...grouped, variant: 'multi-query', keyValueHeads: 1 }),
  timing(plain),
  timing({ batch: 4, median: 77 }),
];

it('says three things of the longest context, in words', () => {
  expect(broughtLines(whatItBrings(cases, timings), 'wasm', 1000)).toEqual([
    'Llama-2-7B-like layer: 1,024 tokens in the static cache, one sequence, on wasm',
    'kernel  flashWasm gives the same numbers as composed, both within 3e-7 of doubles, and a token 2.50 times as fast: ' +
      '100 instead of 40.0 a second.',
    'heads   8 instead of 32 key/value heads take 8 MiB of cache a layer instead of 32 MiB, and with that kernel give ' +
      'a token 1.25 times as fast.',
    "cache   With 32 key/value heads the cache of a sequence weighs more than the layer's weights from 8,193 tokens " +
      'on, with 8 from 20,481.',
  ]);
});

it('counts tokens to the first at which the cache is larger, by the bytes of one sequence', () => {
  // 4 projections of 4096 × 4096 numbers; a token has 2 · 4096. With 8 of 32 heads, a quarter of keys and values.
  const weights = 4 * 4096 ** 2;
  const fewer = 2 * 4096 ** 2 + 2 * 4096 * 1024;
  const { outweighs } = whatItBrings(cases, [
    timing({ batch: 4, bytes: bytes(128) }),
    timing({ ...grouped, batch: 4, bytes: bytes(32) }),
  ]);
  expect(outweighs).toEqual([
    { keyValueHeads: 32, tokens: weights / (2 * 4096) + 1 },
    { keyValueHeads: 8, tokens: fewer / (2 * 1024) + 1 },
  ]);
});

it('leaves out what was not measured', () => {
  const alone = broughtLines(whatItBrings(cases, [timing({})]), 'tensorflow', 1000);
  expect(alone.map((line) => line.split(' ')[0])).toEqual(['Llama-2-7B-like', 'cache']);
  const several = whatItBrings(cases, [timing({ batch: 4 })]);
  expect(broughtLines(several, 'wasm', 1000)[0]).toContain('4 sequences');
});

it('fits a narrow terminal', () => {
  const lines = broughtLines(whatItBrings(cases, timings), 'wasm', 60).slice(1);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
});
