import { seededRandom } from '@polyhead/conformance';
import { describe, expect, it } from 'vitest';
import { headDivergence } from './head-divergence';

describe('headDivergence', () => {
  it('is 0 between heads that look alike, and ln 2 where they share no key', () => {
    const one = [
      [0.5, 0.5, 0],
      [0.25, 0.75, 0],
    ];
    const other = [
      [0, 0, 1],
      [0, 0, 0.5],
    ];
    const table = headDivergence([one, one.map((row) => row.map((w) => w / 3)), other]);
    expect(table[0]![1]).toBeCloseTo(0, 15);
    expect(table[0]![2]).toBeCloseTo(Math.LN2, 12);
    expect(table[2]![1]).toBeCloseTo(Math.LN2, 12);
    expect([table[0]![0], table[1]![1], table[2]![2]]).toEqual([0, 0, 0]);
  });

  it('is the entropy of the mean less the mean of the entropies, in loops', () => {
    const random = seededRandom(4);
    const [H, S] = [4, 7];
    const heads = Array.from({ length: H }, () =>
      Array.from({ length: S }, () => {
        const row = Array.from({ length: S }, () => random());
        const sum = row.reduce((total, x) => total + x, 0);
        return row.map((x) => x / sum);
      }),
    );
    const entropy = (p: number[]) => p.reduce((sum, x) => sum - x * Math.log(x), 0);
    const table = headDivergence(heads);
    for (let a = 0; a < H; a++)
      for (let b = 0; b < H; b++) {
        let expected = 0;
        for (let i = 0; i < S; i++) {
          const [p, q] = [heads[a]![i]!, heads[b]![i]!];
          const mean = p.map((x, j) => (x + q[j]!) / 2);
          expected += (entropy(mean) - (entropy(p) + entropy(q)) / 2) / S;
        }
        expect(table[a]![b]).toBeCloseTo(expected, 12);
      }
  });

  it('leaves out queries that see nothing, and is NaN where none is left', () => {
    const [seeing, blind] = [
      [1, 0],
      [0, 0],
    ];
    const table = headDivergence([
      [seeing, [0, 1]],
      [blind, [1, 0]],
      [[0, 1], blind],
    ]);
    expect(table[0]![1]).toBeCloseTo(Math.LN2, 12);
    expect(table[1]![2]).toBeNaN();
    expect(() => headDivergence([])).toThrow(/heads must be numbers/);
  });
});
