import { expect, it } from 'vitest';
import { headLines, variantLines } from './study-report';

const variant = {
  keyValueHeads: 2,
  similarity: { mean: 0.6234, p10: 0.5 },
  parameters: 263_168,
  cacheBytesPerToken: 1024,
};
const head = {
  pattern: 'local',
  patternShare: 0.75,
  entropy: 2.266,
  distance: 4.06,
  ablation: 0.378,
} as const;
const study = { sentences: 48, tokens: 1786, layers: [{ variants: [variant], heads: [head] }] };

it('tells what is left with fewer key/value heads', () => {
  expect(variantLines(study, 100)).toEqual([
    'The model with fewer key/value heads: each is the mean of those it replaces, and nothing is trained',
    'layer  K/V heads  similarity  lowest tenth  parameters  cache a token',
    '1              2       0.623         0.500     263,168          1 KiB',
    "similarity: cosine with the published layer's output, over 1,786 tokens of 48 sentences",
  ]);
});

it('tells what each head does', () => {
  expect(headLines(study, 100).slice(1, 3)).toEqual([
    'layer  head  pattern        entropy  distance  ablation',
    '1      1     local in 75 %     2.27       4.1      38 %',
  ]);
});
