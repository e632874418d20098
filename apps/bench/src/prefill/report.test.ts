import { expect, it } from 'vitest';
import { cellLike } from '../matrix/fixtures/cell';
import { prefillCells } from './cells';
import { prefillLines } from './report';

const cells = prefillCells(['wasm', 'cpu'], [32, 512]).map((at) =>
  cellLike({ ...at, ms: at.backend === 'cpu' ? 50 : 4, error: at.backend === 'cpu' ? 2e-6 : 1e-6 }),
);

it('compares backends length by length, with percentiles where they fit, and leaves out what was not timed', () => {
  expect(prefillLines(cells, 80).slice(0, 4)).toEqual([
    'Prefill of one sequence, 512 wide, 8 heads × 64, causal: median (10th–90th percentile) of 5 runs',
    'tokens           wasm ms      cpu ms  cpu / wasm  error',
    '    32  4.00 (3.60–4.40)  50 (45–55)      12.5 ×   2e-6',
    '   512  4.00 (3.60–4.40)           –           –   1e-6',
  ]);
  expect(prefillLines(cells, 40).slice(1, 3)).toEqual([
    'tokens  wasm ms  cpu ms  cpu / wasm  error',
    '    32     4.00      50      12.5 ×   2e-6',
  ]);
});

it('marks ratios of a busy machine', () => {
  const busy = cells.map((cell) => ({ ...cell, busy: cell.backend === 'cpu' }));
  expect(prefillLines(busy, 80)[2]).toContain('≈12.5 ×');
});
