import { expect, it } from 'vitest';
import { speedLines } from './report';

it('compares backends case by case, with percentiles where they fit', () => {
  const timing = { layer: 'encoder', length: 512, samples: 15, median: 4, p10: 3.5, p90: 12.25, error: 1e-6 };
  const timings = [
    { ...timing, backend: 'wasm' },
    { ...timing, backend: 'cpu', samples: 3, median: 50, p10: 49, p90: 51, error: 2e-6 },
  ] as const;
  expect(speedLines(timings, ['wasm', 'cpu'], 80).slice(0, 3)).toEqual([
    'Prefill of one sequence: median (10th–90th percentile) of 3 to 15 runs',
    'layer    tokens         wasm ms      cpu ms  cpu / wasm  error',
    'encoder     512  4.00 (3.50–12)  50 (49–51)      12.5 ×   2e-6',
  ]);
  expect(speedLines(timings, ['wasm', 'cpu'], 50).slice(0, 3)).toEqual([
    'Prefill of one sequence: median of 3 to 15 runs',
    'layer    tokens  wasm ms  cpu ms  cpu / wasm  error',
    'encoder     512     4.00      50      12.5 ×   2e-6',
  ]);
});

it('leaves out what was not timed', () => {
  const timing = { layer: 'encoder', length: 512, samples: 15, median: 4, p10: 4, p90: 4, error: 1e-6 };
  const timings = [
    { ...timing, length: 32, backend: 'wasm' },
    { ...timing, length: 32, backend: 'cpu' },
    { ...timing, backend: 'wasm' },
  ] as const;
  expect(speedLines(timings, ['wasm', 'cpu'], 50).slice(2, 4)).toEqual([
    'encoder      32     4.00    4.00       1.0 ×   1e-6',
    'encoder     512     4.00       –           –   1e-6',
  ]);
});
