import { expect, it } from 'vitest';
import { noise } from './noise';

it('is uniform up to its limit, and the same for a seed alone', () => {
  const values = noise(10_000, { seed: 3, limit: 2 });
  const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
  const square = values.reduce((sum, x) => sum + x * x, 0) / values.length;
  expect(mean).toBeCloseTo(0, 1);
  expect(square).toBeCloseTo(4 / 3, 1);
  expect(values.every((x) => Math.abs(x) <= 2)).toBe(true);
  expect(noise(10_000, { seed: 3, limit: 2 })).toEqual(values);
  expect(noise(10, { seed: 4, limit: 2 })).not.toEqual(values.subarray(0, 10));
});

it('fills what is longer than its period, and no two rows alike', () => {
  const values = noise(1024 * 1024, { seed: 0 });
  expect(values.at(-1)).not.toBe(0);
  const row = (n: number) => values.slice(n * 1024, (n + 1) * 1024).join();
  const rows = new Set(Array.from({ length: 1024 }, (_, n) => row(n)));
  expect(rows.size).toBe(1024);
});
