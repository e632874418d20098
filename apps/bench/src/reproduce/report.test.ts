import { expect, it } from 'vitest';
import { headline, reproductionLines } from './report';

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
