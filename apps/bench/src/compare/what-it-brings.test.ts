import { expect, it } from 'vitest';
import { caches } from '../axes/caches';
import { layers } from '../axes/layers';
import { variants } from '../axes/variants';
import { bytesOf, cellLike } from '../matrix/fixtures/cell';
import { broughtLines, whatItBrings } from './what-it-brings';

const shape = layers.find(({ name }) => name === 'llama-2-7b')!;
const cases = { shape, variants, caches: caches.filter(({ isOptional }) => !isOptional) };
const grouped = {
  variant: 'grouped-8',
  keyValueHeads: 8,
  cacheBytes: bytesOf(8 * 2 ** 20),
  ms: 8,
};
const plain = { kernel: 'composed', ran: 'composed', ms: 25, error: 3e-7 };

const cells = [
  cellLike({ layer: 'gpt-2', tokens: 4096 }),
  cellLike({ phase: 'prefill', tokens: 4096 }),
  cellLike({ tokens: 64 }),
  cellLike({ ...grouped, tokens: 64, ms: 1 }),
  cellLike({ cache: 'growing', ms: 15 }),
  cellLike({ ...grouped, cache: 'growing' }),
  cellLike(),
  cellLike(grouped),
  cellLike({ ...grouped, variant: 'multi-query', keyValueHeads: 1 }),
  cellLike(plain),
  cellLike({ tokens: 32, ms: 7 }),
  cellLike({ ...grouped, tokens: 32, ms: 6 }),
  cellLike({ batch: 4, ms: 77 }),
];

it('says what each choice brings the longest context, apart, in words', () => {
  expect(broughtLines(whatItBrings(cases, cells), 'wasm', 1000)).toEqual([
    'Llama-2-7B-like layer: 1,024 tokens in the static cache, one sequence, on wasm',
    'kernel       flashWasm gives the same numbers as composed, both within 3e-7 of doubles, and a token 2.50 times as fast: ' +
      '100 instead of 40.0 a second.',
    'heads        8 instead of 32 key/value heads take 8 MiB of cache a layer instead of 32 MiB, and with that kernel give ' +
      'a token 1.25 times as fast.',
    'projections  Of the 2.00 ms that fewer heads save a token, 1.00 (50 %) are smaller projections: so much they save ' +
      'with 32 tokens in the cache. The rest is fewer keys and values to read.',
    'cache        The static cache gives a token 1.50 times as fast as the growing one. With 32 key/value heads the cache ' +
      "of a sequence weighs more than the layer's weights from 8,193 tokens on, with 8 from 20,481.",
  ]);
});

it('counts tokens to the first at which the cache is larger, by the bytes of one sequence', () => {
  // 4 projections of 4096 × 4096 numbers; a token has 2 · 4096. With 8 of 32 heads, a quarter of keys and values.
  const weights = 4 * 4096 ** 2;
  const fewer = 2 * 4096 ** 2 + 2 * 4096 * 1024;
  const { outweighs } = whatItBrings(cases, [cellLike({ batch: 4 }), cellLike({ ...grouped, batch: 4 })]);
  expect(outweighs).toEqual([
    { keyValueHeads: 32, tokens: weights / (2 * 4096) + 1 },
    { keyValueHeads: 8, tokens: fewer / (2 * 1024) + 1 },
  ]);
});

it('leaves out what was not measured, and what a saving of nothing is made of', () => {
  const alone = broughtLines(whatItBrings(cases, [cellLike()]), 'tensorflow', 1000);
  expect(alone.map((line) => line.split(' ')[0])).toEqual(['Llama-2-7B-like', 'cache']);
  const several = whatItBrings(cases, [cellLike({ batch: 4 })]);
  expect(broughtLines(several, 'wasm', 1000)[0]).toContain('4 sequences');
  const slower = cells.map((cell) =>
    cell.variant === 'multi-head' ? cell : { ...cell, time: cells[9]!.time },
  );
  expect(whatItBrings(cases, slower)).not.toHaveProperty('projections');
});

it('says so where smaller projections seem to save more than all', () => {
  // A token of all heads 10 ms, of fewer 8; with 32 tokens in the cache 10 and 6.
  const noisy = cells.map((cell) =>
    cell.tokens === 32 && cell.variant === 'multi-head' ? { ...cell, time: cells[6]!.time } : cell,
  );
  expect(broughtLines(whatItBrings(cases, noisy), 'wasm', 1000)[3]).toBe(
    'projections  Fewer heads save a token 2.00 ms here, and 4.00 with 32 tokens in the cache: smaller projections are ' +
      'all that shows beside the noise.',
  );
});

it('names a kernel only where two were measured', () => {
  const one = cells.filter((cell) => cell.ran !== 'composed');
  expect(broughtLines(whatItBrings(cases, one), 'tensorflow', 1000)[1]).toContain(
    'MiB, and give a token 1.25',
  );
});

it('names a busy machine', () => {
  const busy = cells.map((cell) => ({ ...cell, busy: cell.tokens === 32 }));
  expect(whatItBrings(cases, cells).busy).toBe(false);
  expect(broughtLines(whatItBrings(cases, busy), 'wasm', 1000).at(-1)).toContain(
    'times of the processor, and unsure',
  );
});

it('fits a narrow terminal', () => {
  const lines = broughtLines(whatItBrings(cases, cells), 'wasm', 60).slice(1);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
});
