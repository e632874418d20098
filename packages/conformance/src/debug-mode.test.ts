// tfjs's debug mode looks at every number that is uploaded, and refuses -Infinity and NaN.
import { attend, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { attentionCase, type CaseRow } from './attention-case';
import { kernelGradients, kernelNumbers } from './kernel-run';
import { type MaskName, maskKinds } from './mask-kinds';

const sizes = { B: 2, Hq: 2, Hkv: 1, Sq: 4, Skv: 5, D: 2, Dv: 3 };
const returns = ['weights', 'logSumExp'] as const;
const rows: readonly CaseRow[] = [
  ...(Object.keys(maskKinds) as MaskName[]).map((mask) => ({ sizes, mask, returns })),
  { sizes, returns, mask: 'lengths', sinkLogits: true, softcap: 2, dropout: 0.3 },
  { sizes, returns, mask: 'causal', bias: '[B, 1, 1, Skv]' },
];

beforeEach(() => {
  vi.spyOn(console, 'log').mockReturnValue(undefined); // a line for each operation
  vi.spyOn(console, 'warn').mockReturnValue(undefined);
});
afterEach(() => {
  tf.env().set('DEBUG', false);
  vi.restoreAllMocks();
});

it.each(rows.map((row) => [attentionCase(row).name, row] as const))('runs there: %s', async (_, row) => {
  const testCase = attentionCase(row);
  const expected = [await kernelNumbers(composed(), testCase), await kernelGradients(composed(), testCase)];
  tf.env().set('DEBUG', true);
  const numbers = [await kernelNumbers(composed(), testCase), await kernelGradients(composed(), testCase)];
  expect(numbers).toEqual(expected);
});

it('runs where a row sees nothing at all', () => {
  tf.env().set('DEBUG', true);
  const x = tf.ones<tf.Rank.R4>([1, 1, 2, 2]);
  const none = tf.zeros<tf.Rank.R4>([1, 1, 0, 2]);
  const { output } = attend(composed(), { query: x, key: none, value: none });
  expect([...output.dataSync()]).toEqual([0, 0, 0, 0]);
});
