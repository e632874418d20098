// Maps made to look like one thing, clean and under noise.
import { seededRandom } from '@polyhead/conformance';
import { describe, expect, it } from 'vitest';
import { type HeadPattern, headPattern } from './head-pattern';
import { queryRows } from './query-rows';

type Score = (i: number, j: number, n: number) => number;

const kinds: [string, HeadPattern, Score][] = [
  ['each token looks at itself', 'diagonal', (i, j) => Number(i === j)],
  ['at the token before', 'diagonal', (i, j) => Number(j === i - 1)],
  ['at the token three before', 'diagonal', (i, j) => Number(j === i - 3)],
  ['at the first key', 'vertical', (_, j) => Number(j === 0)],
  ['at a key in the middle', 'vertical', (_, j) => Number(j === 3)],
  ['evenly', 'horizontal', () => 1],
  ['within blocks of four', 'block', (i, j) => Number(i >> 2 === j >> 2)],
  ['within two blocks', 'block', (i, j, n) => Number(i < n / 3 === j < n / 3)],
  ['near itself', 'local', (i, j, n) => Number(Math.abs(i - j) <= Math.max(1, n / 8))],
  ['further than a quarter away', 'long-range', (i, j, n) => Number(Math.abs(i - j) > n / 4)],
];
const sizes = [12, 16, 33, 64];

describe('headPattern', () => {
  describe.each(kinds)('a head that looks %s', (_, pattern, score) => {
    it.each(sizes)(`is ${pattern}, %i tokens`, (n) => {
      expect(named(mapOf(n, score))).toBe(pattern);
    });

    it.each(sizes)(`is ${pattern} with a quarter of the weight elsewhere, %i tokens`, (n) => {
      const random = seededRandom(n);
      const noise = (i: number, j: number) => score(i, j, n) * 3 * meanOf(n, i, score) + random();
      expect(named(mapOf(n, noise))).toBe(pattern);
    });
  });

  it.each(kinds.filter(([what]) => !/block|middle|quarter/.test(what)))(
    'a causal head that looks %s has the same name: %s',
    (_, pattern, score) => {
      for (const n of sizes) {
        expect(named(mapOf(n, (i, j) => (j <= i ? score(i, j, n) + 1e-6 : 0)))).toBe(pattern);
      }
    },
  );

  it('is block for causal blocks, and long-range for causal queries that look far back', () => {
    const blocks: Score = (i, j) => (j <= i ? Number(i >> 2 === j >> 2) : 0);
    const far: Score = (i, j, n) => (j <= i ? Number(i - j > n / 4) + 1e-6 : 0);
    for (const n of sizes)
      expect([named(mapOf(n, blocks)), named(mapOf(n, far))]).toEqual(['block', 'long-range']);
  });

  it('is mixed for softmax of normal scores, whatever the seed, causal or not', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed);
      const gaussian = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      const isCausal = seed % 2 === 0;
      const map = mapOf(sizes[seed % 4]!, (i, j) => (isCausal && j > i ? 0 : Math.exp(gaussian())));
      expect([seed, named(map)]).toEqual([seed, 'mixed']);
    }
  });

  it('is mixed where there is too little to tell', () => {
    expect(named([[0, 0, 0, 1]])).toBe('mixed');
    expect(named([[1]])).toBe('mixed');
    expect(named([])).toBe('mixed');
  });

  it('names maps of few queries and many keys', () => {
    const rows = [0, 1, 2].map((i) => Array.from({ length: 40 }, (_, j) => Number(j === 37 + i)));
    expect(named(rows)).toBe('diagonal');
    expect(named(rows.map(() => rows[0]!))).toBe('vertical');
  });
});

/** Weights in proportion to a score; a row without any sees nothing. */
function mapOf(n: number, score: Score): number[][] {
  return Array.from({ length: n }, (_, i) => {
    const scores = Array.from({ length: n }, (__, j) => score(i, j, n));
    const sum = scores.reduce((total, s) => total + s, 0);
    return scores.map((s) => (sum > 0 ? s / sum : 0));
  });
}

/** What random numbers in [0, 1) put in a row, for each cell of the pattern in it. */
function meanOf(n: number, i: number, score: Score): number {
  const cells = Array.from({ length: n }, (_, j) => score(i, j, n)).reduce((sum, s) => sum + s, 0);
  return cells > 0 ? n / 2 / cells : 0;
}

function named(rows: number[][]): HeadPattern {
  const keys = rows[0]?.length ?? 0;
  return headPattern(queryRows(rows, keys - rows.length), keys);
}
