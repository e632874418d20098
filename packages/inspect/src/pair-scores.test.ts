// Heads made to find a word, in texts of six tokens, and luck counted case by case.
import { describe, expect, it } from 'vitest';
import { type LabelledPair, pairScores } from './pair-scores';

const S = 6;
const row = (...keys: number[]) =>
  Array.from({ length: S }, (_, j) => Number(keys.includes(j)) / keys.length);
/** The last row looks at these keys alike, all others at the first. */
const head = (...keys: number[]) =>
  Array.from({ length: S }, (_, i) => (i === S - 1 ? row(...keys) : row(0)));
/** All rows do. */
const everyRow = (...keys: number[]) => Array.from({ length: S }, () => row(...keys));

/** The last token looks; words are the tokens 1 to 4. */
const pair = (to: number, ...heads: number[][][]): LabelledPair => ({
  kind: 'made',
  heads,
  from: [5],
  words: [[1], [2], [3], [4]],
  to,
});

describe('pairScores', () => {
  it('gives 1 to a head that finds every word, and what places and chance find beside it', () => {
    const places = [0, 2, 3, 3, 1];
    const pairs = places.map((to) => pair(to, head(to + 1), head(4), head(0), head(1, 2, 3, 4)));
    const [scores, ...others] = pairScores(pairs);
    expect(others).toEqual([]);
    expect(scores).toMatchObject({ kind: 'made', pairs: 5, chance: 1 / 4, best: 0 });
    expect(scores!.place).toEqual({ from: 'word', words: -1, share: 2 / 5 });
    expect(scores!.shares).toEqual([1, 2 / 5, 0, 0]); // one that is even, or looks elsewhere, finds none
    expect(scores!.means).toEqual([true, false, false, false]);
  });

  it('bounds luck as counting every case does, with words of different number', () => {
    const sizes = [2, 3, 4];
    const pairs = sizes.map((size, n) => ({
      ...pair(0, ...[0, 1, 2].map((h) => head(n < h + 1 ? 1 : 2))),
      words: Array.from({ length: size }, (_, word) => [word + 1]),
    }));
    const [{ luck, shares, chance }] = pairScores(pairs) as [ReturnType<typeof pairScores>[number]];
    expect(shares).toEqual([1 / 3, 2 / 3, 1]);
    expect(chance).toBeCloseTo((1 / 2 + 1 / 3 + 1 / 4) / 3, 12);
    for (const [h, hits] of [1, 2, 3].entries()) {
      let cases = 0;
      for (let a = 0; a < 2; a++)
        for (let b = 0; b < 3; b++)
          for (let c = 0; c < 4; c++)
            if (Number(a === 0) + Number(b === 0) + Number(c === 0) >= hits) cases++;
      expect(luck[h]).toBeCloseTo(Math.min(1, (3 * cases) / 24), 12);
    }
  });

  it('adds the weights of a word up, and averages over the tokens that look', () => {
    const rows = Array.from({ length: S }, () => [0, 0.3, 0.3, 0.4, 0, 0]);
    const words = [[1, 2], [3]];
    const found = (to: number, map: number[][]) =>
      pairScores([{ kind: 'made', heads: [map], from: [4, 5], words, to }])[0]!.shares[0];
    expect([found(0, rows), found(1, rows)]).toEqual([1, 0]);
    const other = [...rows.slice(0, 5), [0, 0, 0.1, 0.9, 0, 0]]; // means: 0.35 and 0.65
    expect([found(0, other), found(1, other)]).toEqual([0, 1]);
  });

  it('tells a head that looks at a word whatever the word that looks', () => {
    const places = [0, 1, 2, 2, 1, 0];
    const pairs = places.map((to) => pair(to, everyRow(to + 1), head(to + 1), head(1)));
    const [scores] = pairScores(pairs);
    expect(scores).toMatchObject({
      shares: [1, 1, 1 / 3],
      anyway: [1, 0, 0],
      means: [false, true, false],
      best: 1,
    });
  });

  it('measures distances behind the word that looks, too, and keeps kinds apart in their order', () => {
    const behind = { ...pair(1, everyRow(4)), kind: 'later', from: [2], words: [[1], [4], [5]] };
    const found = pairScores([behind, pair(0, head(0)), behind]);
    expect(found.map(({ kind, pairs }) => [kind, pairs])).toEqual([
      ['later', 2],
      ['made', 1],
    ]);
    expect(found[0]!.place).toEqual({ from: 'word', words: 1, share: 1 });
    expect(found[0]!.means).toEqual([false]); // the next word, always
  });

  it('counts places from the start where more words stand at one', () => {
    const pairs = [2, 3, 4].map((size) => ({
      ...pair(1, head(2)),
      words: Array.from({ length: size }, (_, word) => [word + 1]),
    }));
    const [scores] = pairScores(pairs);
    expect(scores!.place).toEqual({ from: 'start', words: 2, share: 1 });
    expect(scores).toMatchObject({ shares: [1], means: [false] }); // it may just count
  });

  it.each([
    [[], /pairs must be a list/],
    [[pair(0, head(1)), pair(0)], /heads must be numbers/],
    [[pair(0, head(1)), pair(0, head(1), head(2))], /all pairs must have the same heads/],
    [[pair(4, head(1))], /pair 0 must have a kind/],
    [[{ ...pair(0, head(1)), from: [] }], /pair 0 must have/],
    [[{ ...pair(0, head(1)), words: [[6]] }], /pair 0 must have/],
  ])('refuses what is no pair: %#', (pairs, message) => {
    expect(() => pairScores(pairs)).toThrow(message);
  });
});
