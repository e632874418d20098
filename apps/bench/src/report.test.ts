import { expect, it } from 'vitest';
import { environmentLines, headline, reproductionLines, speedLines } from './report';

const good = { sentences: 192, tokens: 6543, layers: [{ weights: 3e-7, output: 1e-5 }] };
const bad = { ...good, layers: [{ weights: 3e-7, output: 0.1 }] };

it('says the result in one sentence', () => {
  expect(headline(good)).toContain('MultiHeadAttention reproduces both attention layers');
  expect(headline(bad)).toContain('does NOT reproduce');
});

it('sets each difference beside what is allowed', () => {
  expect(reproductionLines(good)).toEqual([
    "Largest difference to the model's own graph, over 6,543 tokens",
    '         attention weights         output',
    'layer 1  3.0e-7 of 3.0e-6 allowed  1.0e-5 of 1.5e-4 allowed',
  ]);
});

it('says what ran, and why not something before it', () => {
  const backend = {
    name: 'wasm',
    device: 'SIMD',
    passedOver: [{ name: 'tensorflow', reason: 'not there' }],
  } as const;
  const environment = { tfjs: '4.22.0', node: 'v20.20.2', cpu: 'Some CPU', cores: 2 };
  expect(environmentLines(backend, environment)).toEqual([
    'backend   wasm (SIMD)',
    '          not tensorflow: not there',
    'versions  TensorFlow.js 4.22.0, Node v20.20.2',
    'machine   Some CPU, 2 cores',
  ]);
});

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
