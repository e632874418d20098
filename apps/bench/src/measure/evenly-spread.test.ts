import { expect, it } from 'vitest';
import { evenlySpread } from './evenly-spread';

it('takes the first, the last and some between, each once', () => {
  expect(evenlySpread(3, 32)).toEqual([0, 16, 31]);
  expect(evenlySpread(3, 2)).toEqual([0, 1]);
  expect(evenlySpread(8, 1)).toEqual([0]);
  expect(evenlySpread(1, 5)).toEqual([0]);
});
