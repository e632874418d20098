import { causal } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { headStatistics } from './head-statistics';
import { readHeads } from './head-weights';

describe('headStatistics', () => {
  it('measures a small map by hand', () => {
    const [head] = headStatistics([
      [
        [0.5, 0.25, 0.25],
        [0, 1, 0],
        [0.25, 0.25, 0.5],
      ],
    ]);
    const half = -(0.5 * Math.log(0.5) + 2 * 0.25 * Math.log(0.25));
    expect(head!.rows).toBe(3);
    expect(head!.entropy).toBeCloseTo((half + 0 + half) / 3, 12);
    expect(head!.distance).toBeCloseTo((0.25 + 0.5 + 0 + 0.5 + 0.25) / 3, 12);
    expect(head!.diagonal).toBeCloseTo((0.5 + 1 + 0.5) / 3, 12);
    expect(head!.first).toBeCloseTo((0.5 + 0 + 0.25) / 3, 12);
    expect(head!.previous).toBeCloseTo((0 + 0.25) / 2, 12);
    expect(head!.next).toBeCloseTo((0.25 + 0) / 2, 12);
    expect(head!.strongestColumn).toEqual({ key: 1, share: 0.5 });
  });

  it('leaves out rows that see nothing', () => {
    const seen = [
      [0.9, 0.1, 0],
      [0, 0.2, 0.8],
    ];
    const [all] = headStatistics([seen], { queryStart: 1 });
    const [padded] = headStatistics([[[0, 0, 0], ...seen]], { queryStart: 0 });
    expect(padded).toEqual(all);
    const [nothing] = headStatistics([[[0, 0]]]);
    expect(nothing).toMatchObject({ rows: 0, entropy: Number.NaN, pattern: 'mixed' });
  });

  it('takes rows as shares, so that a sink does not count as a key', () => {
    const whole = [
      [0.6, 0.4],
      [0.3, 0.7],
    ];
    const [plain] = headStatistics([whole]);
    const [sunk] = headStatistics([whole.map((row) => row.map((weight) => weight / 4))]);
    for (const name of ['entropy', 'distance', 'diagonal', 'first', 'previous', 'next'] as const) {
      expect(sunk![name]).toBeCloseTo(plain![name], 12);
    }
  });

  it('puts the last query at the last key, unless told otherwise', () => {
    const rows = [
      [0, 0, 1, 0],
      [0, 0, 0, 1],
    ];
    expect(headStatistics([rows])[0]).toMatchObject({ diagonal: 1, distance: 0 });
    expect(headStatistics([rows], { queryStart: 0 })[0]).toMatchObject({ diagonal: 0, distance: 2 });
    expect(headStatistics([rows], { queryStart: 3 })[0]).toMatchObject({ previous: 0.5 + 0.5 });
  });

  it('measures what a layer returns, each head for itself', async () => {
    const layer = new MultiHeadAttention({ embedDim: 12, numHeads: 3, scale: 0, seed: 1 });
    const query = tf.randomNormal<tf.Rank.R3>([2, 7, 12], 0, 1, 'float32', 1);
    const { weights } = layer.apply({ query }, { mask: causal(), returns: ['weights'] });
    const statistics = headStatistics(await readHeads(weights!, { entry: 1 }));
    expect(statistics).toHaveLength(3);
    const even = [1, 2, 3, 4, 5, 6, 7].reduce((sum, n) => sum + Math.log(n), 0) / 7;
    for (const head of statistics) {
      expect(head.entropy).toBeCloseTo(even, 5);
      expect(head.next).toBe(0);
      expect(head.pattern).toBe('horizontal');
    }
    layer.dispose();
  });

  it('tells maps of what is no number from maps that look at one key', () => {
    const broken = (Sq: number) => [Array.from({ length: Sq }, () => new Array<number>(Sq).fill(Number.NaN))];
    for (const Sq of [2, 16]) {
      expect(headStatistics(broken(Sq))[0]).toMatchObject({
        entropy: Number.NaN,
        distance: Number.NaN,
        pattern: 'mixed',
      });
    }
    expect(headStatistics([[[1, Number.NaN]]])[0]!.entropy).toBeNaN();
  });

  it('takes time and memory of the map only: one row of many keys, many rows of one key', () => {
    const n = 16_384;
    const row = Array.from({ length: n }, (_, j) => (j === n - 2 ? 1 : 0));
    const before = performance.now();
    expect(headStatistics([[row]])[0]).toMatchObject({ rows: 1, previous: 1, pattern: 'mixed' });
    const few = headStatistics([Array.from({ length: 8 }, () => row)]);
    expect(few[0]!.pattern).toBe('vertical');
    expect(headStatistics([Array.from({ length: n }, () => [1])])[0]).toMatchObject({ first: 1 });
    expect(performance.now() - before).toBeLessThan(20_000);
  });

  it('refuses what is no map', () => {
    expect(() => headStatistics(null as never)).toThrow(/headStatistics: heads must be numbers/);
    expect(() => headStatistics([[[1]]], { start: 0 } as never)).toThrow(/unknown +\[start\]/);
    expect(() => headStatistics([[[1, 0], [1]]])).toThrow(/headStatistics: heads must be numbers/);
    expect(() => headStatistics([[[1]]], { queryStart: 0.5 })).toThrow(/queryStart must be a whole number/);
  });
});
