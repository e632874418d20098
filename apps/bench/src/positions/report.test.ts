import { expect, it } from 'vitest';
import { cellLike } from '../matrix/fixtures/cell';
import { positionCells } from './cells';
import type { PositionFacts } from './compare-positions';
import { positionLines } from './report';

const shape = { embedDim: 512, numHeads: 8, longest: 1024 };
const MiB = 2 ** 20;

function compared(timesNone: number, headPeakBytes: number, busy = false) {
  const facts = (name: string, headPeak: number): PositionFacts => ({
    name,
    ...(name === 'shaw' && { note: 'tables for keys and values, k = 128' }),
    ...{ parameters: 32_896, tableBytes: 131_584, peakBytes: 20 * MiB, headPeakBytes: headPeak },
  });
  const cells = positionCells(['shaw'], 'wasm', { lengths: [1024] }).map((at) => {
    const ms = (at.phase === 'prefill' ? 98.71 : 1.994) * (at.position === 'none' ? 1 : timesNone);
    return cellLike({ ...at, ms, error: 3e-7, ran: 'composed', busy });
  });
  return { positions: [facts('none', 12 * MiB), facts('shaw', headPeakBytes)], cells, absent: [] };
}

it('says what each method costs beside none', () => {
  const lines = positionLines(shape, compared(1.87, 25 * MiB), 120);
  expect(lines.slice(0, 4)).toEqual([
    'Position methods in a causal layer 512 wide, 8 heads × 64',
    'method  parameters   tables  prefill 1,024 ms  decode 1,024 ms    peak  one head  of naive',
    'none        32,896  129 KiB     98.7 (1.00 ×)    1.99 (1.00 ×)  20 MiB    12 MiB       5 %',
    'shaw        32,896  129 KiB      185 (1.87 ×)    3.73 (1.87 ×)  20 MiB    25 MiB      10 %',
  ]);
  const notes = lines.slice(4).join('\n');
  expect(notes).toContain('1,024 × 1,024 pairs, 256 MiB; with one head every peak is below a tenth of it');
  expect(notes).toContain('largest difference to doubles 3e-7, of a step to one pass included');
  expect(notes).toContain('shaw: tables for keys and values, k = 128');
});

it('names those that hold a tenth or more, and marks a busy machine', () => {
  const lines = positionLines(shape, compared(1.87, 25.6 * MiB, true), 120).join('\n');
  expect(lines).toContain('with one head a tenth or more of it: shaw');
  expect(lines).toContain('(≈1.87 ×)');
  expect(lines).toContain('the machine was busy');
});
