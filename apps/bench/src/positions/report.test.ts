import { expect, it } from 'vitest';
import { type ComparedPosition, positionLines } from './report';

const shape = { embedDim: 512, numHeads: 8, longest: 1024 };
const MiB = 2 ** 20;

function compared(name: string, timesNone: number, headPeakBytes: number): ComparedPosition {
  const spread = { samples: 11, p10: 1, p90: 3, timesNone };
  return {
    name,
    ...(name === 'shaw' && { note: 'tables for keys and values, k = 128' }),
    parameters: 32_896,
    tableBytes: 131_584,
    peakBytes: 20 * MiB,
    headPeakBytes,
    error: 2e-7,
    stepError: 3e-7,
    work: [
      { ...spread, phase: 'prefill', tokens: 1024, median: 98.71 },
      { ...spread, phase: 'decode', tokens: 1024, median: 1.994 },
    ],
  };
}

it('says what each method costs beside none', () => {
  const lines = positionLines(shape, [compared('none', 1, 12 * MiB), compared('shaw', 1.87, 25 * MiB)], 120);
  expect(lines.slice(0, 4)).toEqual([
    'Position methods in a causal layer 512 wide, 8 heads × 64',
    'method  parameters   tables  prefill 1,024 ms  decode 1,024 ms    peak  one head  of naive',
    'none        32,896  129 KiB     98.7 (1.00 ×)    1.99 (1.00 ×)  20 MiB    12 MiB       5 %',
    'shaw        32,896  129 KiB     98.7 (1.87 ×)    1.99 (1.87 ×)  20 MiB    25 MiB      10 %',
  ]);
  const notes = lines.slice(4).join('\n');
  expect(notes).toContain('1,024 × 1,024 pairs, 256 MiB; with one head every peak is below a tenth of it');
  expect(notes).toContain('largest difference to doubles 2e-7, of a step to one pass 3e-7');
  expect(notes).toContain('shaw: tables for keys and values, k = 128');
});

it('names those that hold a tenth or more', () => {
  const lines = positionLines(shape, [compared('none', 1, MiB), compared('shaw', 1.87, 25.6 * MiB)], 120);
  expect(lines.join('\n')).toContain('with one head a tenth or more of it: shaw');
});
