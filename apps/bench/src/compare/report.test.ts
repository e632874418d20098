import { expect, it } from 'vitest';
import type { CachedTiming } from './cached-speed';
import { comparisonCases } from './cases';
import { comparisonLines } from './report';
import { variants } from './variants';

const choice = {
  shape: ['llama-2-7b'],
  variant: ['grouped-8'],
  cache: ['growing', 'static'],
  batch: [1],
  tokens: [64, 1024],
} as const;
const [cases] = comparisonCases(choice, { backend: 'wasm', quick: false });
const timings = (['prefill', 'decode'] as const).flatMap((phase) =>
  (phase === 'prefill' ? [32] : [64, 1024]).flatMap((tokens) =>
    ([32, 8] as const).flatMap((keyValueHeads) =>
      (['growing', 'static'] as const).map((cache): CachedTiming => {
        const bytes = keyValueHeads * 1024 * tokens;
        const median = (keyValueHeads === 8 ? 10 : 15) * (phase === 'prefill' ? 32 : 1);
        return {
          phase,
          shape: 'llama-2-7b',
          variant: keyValueHeads === 8 ? 'grouped-8' : 'multi-head',
          kernel: 'flashWasm',
          keyValueHeads,
          cache,
          batch: 1,
          tokens,
          bytes: { predicted: bytes, held: bytes, allocated: bytes },
          writes: cache === 'static' ? 'rows written in place' : 'all rows copied at each call',
          samples: 5,
          median,
          p10: median,
          p90: median,
          tokensPerSecond: 1000 / median,
          speedUp: keyValueHeads === 8 ? 1.5 : 1,
          error: 4e-7,
        };
      }),
    ),
  ),
);

it('tells bytes, prefill and decoding', () => {
  expect(comparisonLines(cases!, timings, 100)).toEqual([
    'Llama-2-7B-like layer: 4,096 wide, 32 heads × 128, causal',
    'Keys and values, predicted and allocated, of one sequence',
    'variant     K/V heads  a token  1,024 tokens  fewer',
    'multi-head         32   32 KiB        32 MiB    1 ×',
    'grouped-8           8    8 KiB         8 MiB    4 ×',
    '',
    'Prefill of 32 tokens: ms (times as fast as multi-head), by cache and batch',
    'variant       growing, 1     static, 1',
    'multi-head  480 (1.00 ×)  480 (1.00 ×)',
    'grouped-8   320 (1.50 ×)  320 (1.50 ×)',
    '',
    'Decoding: tokens a second (times as fast as multi-head), by batch × tokens in the cache',
    'variant     cache           1 × 64      1 × 1,024',
    'multi-head  growing  66.7 (1.00 ×)  66.7 (1.00 ×)',
    'multi-head  static   66.7 (1.00 ×)  66.7 (1.00 ×)',
    'grouped-8   growing   100 (1.50 ×)   100 (1.50 ×)',
    'grouped-8   static    100 (1.50 ×)   100 (1.50 ×)',
    'kernel flashWasm, where no other is named',
    'medians of 5 runs, in turn; largest difference to doubles 4e-7',
    'growing: all rows copied at each call',
    'static: rows written in place',
  ]);
});

it('names the kernel of a layer that has another than the first, in the caches that it was measured with', () => {
  const slower = timings
    .filter((timing) => timing.keyValueHeads === 32 && timing.phase === 'decode' && timing.cache === 'static')
    .map((timing) => ({ ...timing, kernel: 'composed', speedUp: 0.25 }));
  const lines = comparisonLines(cases!, [...timings, ...slower], 100);
  expect(lines.filter((line) => line.startsWith('multi-head, composed'))).toEqual([
    'multi-head, composed  static   66.7 (0.25 ×)  66.7 (0.25 ×)',
  ]);
});

it('makes narrow tables for a narrow terminal', () => {
  const lines = comparisonLines(cases!, timings, 40).filter((line) => /grouped-8|multi-head {2}/.test(line));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
});

it('says which variants there are none of', () => {
  const all = { ...cases!, leftOut: variants.filter(({ name }) => name === 'grouped-6') };
  expect(comparisonLines(all, timings, 100).at(-1)).toBe('no grouped-6: 32 heads do not divide so');
});
