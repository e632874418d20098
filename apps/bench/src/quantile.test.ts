import { expect, it } from 'vitest';
import { quantile } from './quantile';

it('interpolates between neighbours, whatever their order', () => {
  expect(quantile([30, 10, 20, 40], 0.5)).toBe(25);
  expect(quantile([1, 2, 3], 0.5)).toBe(2);
  expect(quantile([0, 10], 0.9)).toBe(9);
  expect(quantile([7], 0.1)).toBe(7);
});

it('refuses to summarise nothing', () => {
  expect(() => quantile([], 0.5)).toThrow('no samples');
});
