import { describe, expect, it } from 'vitest';
import { appendRuns, nextNumber, runsOf, selectRuns, tokenPositions } from './token-runs';

describe('runs of numbers', () => {
  it('are read from a start, for one entry or for all', () => {
    expect(runsOf({ start: [4] }, 1, { count: 3, S: 5 })).toEqual([{ first: 4, count: 3 }]);
    expect(runsOf({ start: [4, -1] }, 1, { count: 3, S: 5 })).toEqual([{ first: -1, count: 3 }]);
    expect(runsOf({ start: [4] }, 0, { count: 0, S: 5 })).toEqual([]);
  });

  it('are read from positions given one by one, for one entry or for all', () => {
    const each = Int32Array.of(7, 8, 2, 0, 1, 5);
    const runs = [
      { first: 7, count: 2 },
      { first: 2, count: 1 },
    ];
    expect(runsOf({ each }, 0, { count: 3, S: 3 })).toEqual(runs);
    expect(runsOf({ each }, 1, { count: 2, S: 3 })).toEqual([{ first: 0, count: 2 }]);
    expect(runsOf({ each: each.slice(0, 3) }, 1, { count: 3, S: 3 })).toEqual(runs);
  });

  it('join where one goes on from the other', () => {
    expect(appendRuns([], [{ first: 3, count: 2 }])).toEqual([{ first: 3, count: 2 }]);
    expect(
      appendRuns(
        [{ first: 3, count: 2 }],
        [
          { first: 5, count: 1 },
          { first: 9, count: 1 },
        ],
      ),
    ).toEqual([
      { first: 3, count: 3 },
      { first: 9, count: 1 },
    ]);
    expect(appendRuns([{ first: 3, count: 2 }], [{ first: 6, count: 1 }])).toHaveLength(2);
    expect(appendRuns([{ first: 3, count: 2 }], [])).toEqual([{ first: 3, count: 2 }]);
  });

  it('are selected by spans of tokens', () => {
    const runs = [
      { first: 3, count: 2 },
      { first: 9, count: 4 },
    ];
    expect(selectRuns(runs, [[0, 6]])).toEqual(runs);
    expect(selectRuns(runs, [[0, 3]])).toEqual([runs[0], { first: 9, count: 1 }]);
    expect(selectRuns(runs, [[0, 0]])).toEqual([]);
    const spans = [
      [1, 3],
      [3, 4],
      [5, 6],
    ] as const;
    expect(selectRuns(runs, spans)).toEqual([
      { first: 4, count: 1 },
      { first: 9, count: 2 },
      { first: 12, count: 1 },
    ]);
  });

  it('go on after the last token, from 0 where there is none', () => {
    expect(nextNumber([])).toBe(0);
    expect(nextNumber([{ first: -2, count: 5 }])).toBe(3);
  });

  it('are a start for each entry where all are consecutive, else each number, counted on behind the last', () => {
    const one = [{ first: -2, count: 3 }];
    const two = [
      { first: 1, count: 1 },
      { first: 5, count: 1 },
    ];
    expect(tokenPositions([one, []], 3)).toEqual({ start: [-2, 0] });
    expect(tokenPositions([one, two], 4)).toEqual({ each: Int32Array.of(-2, -1, 0, 1, 1, 5, 6, 7) });
  });
});
