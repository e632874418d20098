import { seededRandom } from '@polyhead/conformance';
import { expect, it } from 'vitest';
import { bestBlocks } from './best-blocks';
import { type QueryRow, queryRows } from './query-rows';

it('bestBlocks finds blocks of any sizes', () => {
  const starts = [0, 2, 7, 8, 12];
  const n = 15;
  const blockOf = (token: number) => starts.filter((start) => start <= token).length;
  const rows = Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (__, j) => (blockOf(i) === blockOf(j) ? 1 : 0.01)),
  );
  expect(bestBlocks(queryRows(rows, 0), n, () => 1 / n)).toEqual(starts);
});

/** What blocks hold beyond an even head, counted cell by cell. */
function held(starts: readonly number[], rows: readonly QueryRow[], keys: number): number {
  const blockOf = (token: number) => starts.filter((start) => start <= token).length;
  let sum = 0;
  for (const { position, shares } of rows) {
    if (position < 0 || position >= keys) continue;
    shares.forEach((share, j) => {
      if (blockOf(position) === blockOf(j)) sum += share - 1 / keys;
    });
  }
  return sum;
}

it('bestBlocks holds as much as the best of all divisions, whichever rows there are', () => {
  const random = seededRandom(7);
  const keys = 8;
  for (let round = 0; round < 60; round++) {
    const positions = Array.from({ length: keys + 2 }, (_, i) => i - 1).filter(() => random() < 0.5);
    const rows = positions.map((position) => {
      const weights = Array.from({ length: keys }, () => random() ** 4);
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      return { position, shares: weights.map((weight) => weight / total) };
    });
    const divisions = Array.from({ length: 2 ** (keys - 1) }, (_, cuts) => [
      0,
      ...Array.from({ length: keys - 1 }, (__, n) => n + 1).filter((n) => cuts & (1 << (n - 1))),
    ]);
    const most = Math.max(...divisions.map((starts) => held(starts, rows, keys)));
    const starts = bestBlocks(rows, keys, () => 1 / keys);
    expect(starts[0]).toBe(0);
    expect(held(starts, rows, keys)).toBeCloseTo(most, 9);
  }
});
