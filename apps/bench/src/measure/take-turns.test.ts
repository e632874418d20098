import { expect, it } from 'vitest';
import { takeTurns } from './take-turns';

it('runs jobs in turn, and back', async () => {
  const order: string[] = [];
  const job = (name: string) => async () => order.push(name);
  const runs: number[] = [];
  const results = await takeTurns([job('a'), job('b'), job('c')], 3, (done, total) =>
    runs.push(done / total),
  );
  expect(order.join('')).toBe('abccbaabc');
  expect(results).toEqual([
    [1, 6, 7],
    [2, 5, 8],
    [3, 4, 9],
  ]);
  expect(runs).toEqual([0, 1 / 3, 2 / 3]);
});
