import { expect, it } from 'vitest';
import { type AttentionWork, flopOf, inputsOf, keyValueBytes } from './attention-work';

const work: AttentionWork = { heads: 6, keyValueHeads: 2, queries: 5, keys: 7, headDim: 3, causal: true };

it('counts the pairs that are seen, a multiplication and an addition each', () => {
  let pairs = 0;
  for (let i = 0; i < 5; i++) for (let j = 0; j <= i + 2; j++) pairs++;
  expect(flopOf(work)).toBe(2 * 2 * pairs * 6 * 3); // scores, and the sum of values
  expect(flopOf({ ...work, gradients: true })).toBe(7 * 2 * pairs * 6 * 3);
  expect(flopOf({ ...work, causal: false })).toBe(2 * 2 * 5 * 7 * 6 * 3);
});

it('counts keys and values once, however many query heads read them', () => {
  expect(keyValueBytes(work)).toBe(2 * 2 * 7 * 3 * 4);
});

it('makes inputs of the sizes asked for, each another', () => {
  const { query, key, value, outputGradient } = inputsOf(work);
  expect([query, key, value, outputGradient].map(({ length }) => length)).toEqual([90, 42, 42, 90]);
  expect(new Set([query[0], key[0], value[0], outputGradient[0]]).size).toBe(4);
});
