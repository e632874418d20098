import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { changeLines, compareResults, differenceLines } from './compare-results';
import { cellLike } from './fixtures/cell';
import { readResult } from './read-result';
import type { MeasuredCell } from './result';

const sample = readResult(fileURLToPath(new URL('fixtures/sample.json', import.meta.url)));
const of = (...cells: MeasuredCell[]) => ({ ...sample, cells });

/** 100 runs whose quarters lie at ±1 %: the median is known to 0.2 %. */
const steady = (ms: number, change: Partial<MeasuredCell> = {}): MeasuredCell => ({
  ...cellLike(change),
  time: { samples: 100, p10: 0.98 * ms, p25: 0.99 * ms, median: ms, p75: 1.01 * ms, p90: 1.02 * ms },
});

const slowdown = (before: MeasuredCell, after: MeasuredCell, bound = 0.1) => {
  const { slower, unsure, faster } = compareResults(of(before), of(after), bound);
  return [slower.length, unsure.length, faster.length];
};

describe('compareResults', () => {
  it('finds nothing in a result and itself', () => {
    const { slower, unsure, faster, larger, compared } = compareResults(sample, sample, 0);
    expect([slower, unsure, faster, larger]).toEqual([[], [], [], []]);
    expect(compared).toBe(sample.cells.length);
  });

  it('finds what became slower beyond the bound, and what became faster', () => {
    expect(slowdown(steady(10), steady(11.5))).toEqual([1, 0, 0]);
    expect(slowdown(steady(10), steady(10.5))).toEqual([0, 0, 0]);
    expect(slowdown(steady(10), steady(10.5), 0.02)).toEqual([1, 0, 0]);
    expect(slowdown(steady(10), steady(8))).toEqual([0, 0, 1]);
  });

  it('is unsure where runs differ among themselves as much', () => {
    const time = { samples: 5, p10: 6, p25: 8, median: 11.5, p75: 15, p90: 20 };
    expect(slowdown(steady(10), { ...cellLike(), time })).toEqual([0, 1, 0]);
  });

  it('compares cells of the same place and the same turns alone', () => {
    const { compared, onlyBefore, onlyAfter } = compareResults(
      of(steady(1), steady(1, { tokens: 64 }), steady(1, { turns: 'caches' })),
      of(steady(2), steady(2, { tokens: 128 }), steady(1, { turns: 'kernels' })),
      0.1,
    );
    expect([compared, onlyBefore.length, onlyAfter.length]).toEqual([1, 2, 2]);
  });

  it('compares processor time where a machine was busy, so that others make nothing slower', () => {
    const busy = { busy: true, processorShare: 0.5, processorTime: 10 };
    expect(slowdown(steady(10, { processorTime: 10 }), steady(20, busy))).toEqual([0, 0, 0]);
    expect(slowdown(steady(10, { processorTime: 5 }), steady(20, busy))).toEqual([1, 0, 0]);
    const noisy = { p10: 1, p25: 2, p75: 90, p90: 95 };
    const spread = steady(20, { ...busy, processorSpread: noisy });
    expect(slowdown(steady(10, { processorTime: 5 }), spread)).toEqual([0, 1, 0]);
  });

  it('fails nothing by the clock of a busy machine, where there is no other', () => {
    expect(slowdown(steady(10), steady(20, { busy: true }))).toEqual([0, 1, 0]);
    expect(slowdown(steady(20, { busy: true }), steady(10))).toEqual([0, 0, 0]);
  });

  it('takes the direction and its certainty from the same times', () => {
    const before = steady(20, { busy: true, processorTime: 5 });
    const after = steady(10, { processorTime: 10 });
    expect(slowdown(before, after)).toEqual([1, 0, 0]); // though the clock says faster
  });

  it('names first what became slowest, and what can no longer be measured, with the reason', () => {
    const before = [steady(10), steady(10, { tokens: 64 }), steady(10, { cache: 'ring' })];
    const after = [steady(12), steady(30, { tokens: 64 })];
    const { turns: _, ...place } = cellLike({ cache: 'ring' });
    const absent = [{ ...place, why: 'wrong' as const, reason: 'off by 1' }];
    const comparison = compareResults(of(...before), { ...of(...after), absent }, 0.1);
    expect(comparison.slower.map(({ after: { tokens } }) => tokens)).toEqual([64, 1024]);
    expect(comparison.onlyBefore).toEqual([]);
    expect(changeLines(comparison, { bound: 0.1, width: 200 }).at(-1)).toBe(
      'no longer measured: decode, llama-2-7b, multi-head, best, ring cache, wasm, 1 × 1,024: off by 1',
    );
  });

  it('finds more bytes', () => {
    const { larger } = compareResults(of(cellLike()), of(cellLike({ peakBytes: 2 ** 21 })), 0.1);
    expect(larger).toHaveLength(1);
  });
});

it('tells what became slower, from what to what, and marks a busy machine', () => {
  const comparison = compareResults(
    of(steady(10, { processorTime: 9.5 }), steady(5, { tokens: 64 })),
    of(
      steady(20, { busy: true, processorTime: 19 }),
      steady(4, { tokens: 64, peakBytes: 2 ** 21 }),
      steady(1, { tokens: 1 }),
    ),
    0.1,
  );
  expect(changeLines(comparison, { bound: 0.1, width: 200 })).toEqual([
    '2 cells compared: 1 slower by more than 10 %, 0 unsure, 1 faster',
    '',
    'slower by more than 10 %',
    'cell                                                                 before ms (10th–90th)  after ms (10th–90th)     time',
    'decode, llama-2-7b, multi-head, best, static cache, wasm, 1 × 1,024       9.50 (9.31–9.69)      19.0 (18.6–19.4)  ≈2.00 ×',
    '',
    'faster by more than 10 %',
    expect.stringContaining('cell'),
    expect.stringMatching(/^decode, llama-2-7b, multi-head, best, static cache, wasm, 1 × 64 .* 0.80 ×$/),
    '',
    'more bytes',
    'decode, llama-2-7b, multi-head, best, static cache, wasm, 1 × 64: 1 MiB → 2 MiB at their peak',
    '≈: measured on a busy machine: processor time, where one thread computed, else unsure',
    'only in the second: 1, decode, llama-2-7b, multi-head, best, static cache, wasm, 1 × 1',
  ]);
});

it('says what two results were measured with, where that differs', () => {
  expect(differenceLines(sample, sample)).toEqual([]);
  const other = { ...sample, versions: { ...sample.versions, commit: 'other' } };
  expect(differenceLines(sample, other)).toEqual(['commit: abcdef0 → other']);
});
