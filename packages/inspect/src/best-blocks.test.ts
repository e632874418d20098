import { expect, it } from 'vitest';
import { bestBlocks } from './best-blocks';
import { queryRows } from './query-rows';

it('bestBlocks finds blocks of any sizes', () => {
  const starts = [0, 2, 7, 8, 12];
  const n = 15;
  const blockOf = (token: number) => starts.filter((start) => start <= token).length;
  const rows = Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (__, j) => (blockOf(i) === blockOf(j) ? 1 : 0.01)),
  );
  expect(bestBlocks(queryRows(rows, 0), n, () => 1 / n)).toEqual(starts);
});
