import { expect, it } from 'vitest';
import { variants } from '../axes/variants';
import { bytesOf, cellLike } from '../matrix/fixtures/cell';
import { comparisonCases } from './cases';
import { comparisonLines } from './report';

const choice = {
  shape: ['llama-2-7b'],
  variant: ['grouped-8'],
  cache: ['growing', 'static'],
  batch: [1],
  tokens: [64, 1024],
} as const;
const [cases] = comparisonCases(choice, { backend: 'wasm', quick: false });
const cells = [
  ...[32, 8].map((keyValueHeads) =>
    cellLike({
      ...{
        phase: 'prefill',
        tokens: 512,
        keyValueHeads,
        variant: keyValueHeads === 8 ? 'grouped-8' : 'multi-head',
      },
      ...{ ms: keyValueHeads === 8 ? 320 : 480, gflops: 20, shareOfPeak: 0.5, first: 900 },
    }),
  ),
  ...[64, 1024].flatMap((tokens) =>
    [32, 8].flatMap((keyValueHeads) =>
      ['growing', 'static'].map((cache) =>
        cellLike({
          ...{ tokens, keyValueHeads, cache, ms: keyValueHeads === 8 ? 10 : 15 },
          variant: keyValueHeads === 8 ? 'grouped-8' : 'multi-head',
          cacheBytes: bytesOf(keyValueHeads * 1024 * tokens),
        }),
      ),
    ),
  ),
];
const lines = (change: Partial<Parameters<typeof comparisonLines>[1]> = {}, width = 100) =>
  comparisonLines(cases!, { cells, absent: [], ...change }, width);

it('tells bytes, prefill and decoding', () => {
  expect(lines().slice(0, -2)).toEqual([
    'Llama-2-7B-like layer: 4,096 wide, 32 heads × 128, causal',
    'Keys and values, predicted and allocated, of one sequence',
    'variant     K/V heads  a token  1,024 tokens  fewer',
    'multi-head         32   32 KiB        32 MiB    1 ×',
    'grouped-8           8    8 KiB         8 MiB    4 ×',
    '',
    'Prefill of 512 tokens into the static cache, beside multi-head',
    'variant      ms  times as fast  10th–90th  first  GFLOP/s  of peak  peak bytes',
    'multi-head  480         1.00 ×    432–528    900     20.0     50 %       1 MiB',
    'grouped-8   320         1.50 ×    288–352    900     20.0     50 %       1 MiB',
    '',
    'Decoding: tokens a second (times as fast as multi-head), by batch × tokens in the cache',
    'variant     cache           1 × 64      1 × 1,024',
    'multi-head  growing  66.7 (1.00 ×)  66.7 (1.00 ×)',
    'multi-head  static   66.7 (1.00 ×)  66.7 (1.00 ×)',
    'grouped-8   growing   100 (1.50 ×)   100 (1.50 ×)',
    'grouped-8   static    100 (1.50 ×)   100 (1.50 ×)',
    'kernel flashWasm, where no other is named',
    'medians of 5 runs, in turn; largest difference to doubles 1e-7',
  ]);
  expect(lines().slice(-2)).toEqual([
    'growing: all rows copied at each call',
    expect.stringMatching(/^static: rows written (in place|by copy)$/),
  ]);
});

it('names the kernel of a layer that has another than the first, in the caches that it was measured with', () => {
  const slower = cells
    .filter((cell) => cell.keyValueHeads === 32 && cell.phase === 'decode' && cell.cache === 'static')
    .map((cell) => ({ ...cell, kernel: 'composed', ran: 'composed', time: cellLike({ ms: 60 }).time }));
  const rows = lines({ cells: [...cells, ...slower] }).filter((line) =>
    line.startsWith('multi-head, composed'),
  );
  expect(rows).toEqual(['multi-head, composed  static   66.7 (0.25 ×)  66.7 (0.25 ×)']);
});

it('marks ratios to what was measured on a busy machine, and says how busy it was', () => {
  const busy = cells.map((cell) =>
    cell.variant === 'grouped-8' && cell.tokens === 64 ? { ...cell, busy: true, processorShare: 0.4 } : cell,
  );
  const marked = lines({ cells: busy });
  expect(marked).toContain('grouped-8   static   100 (≈1.50 ×)   100 (1.50 ×)');
  expect(marked).toContain(
    '≈: the machine was busy, as little as 40 % of a processor was had: ratios of processor time, where one thread computed',
  );
});

it('says which cells there are none of, and why', () => {
  const { time: _, ...at } = cells[0]!;
  expect(lines({ absent: [{ ...at, why: 'refused', reason: 'too few heads' }] }).at(-1)).toBe(
    'no prefill of multi-head, static, best: too few heads',
  );
});

it('makes narrow tables for a narrow terminal', () => {
  const narrow = lines({}, 40).filter((line) => /grouped-8|multi-head {2}/.test(line));
  expect(Math.max(...narrow.map((line) => line.length))).toBeLessThanOrEqual(40);
});

it('says which variants there are none of', () => {
  const all = { ...cases!, leftOut: variants.filter(({ name }) => name === 'grouped-6') };
  expect(comparisonLines(all, { cells, absent: [] }, 100).at(-1)).toBe(
    'no grouped-6: 32 heads do not divide so',
  );
});
