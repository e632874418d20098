// Each filter against its definition, and draws against the exact distribution.
import { isAttentionError } from '@polyhead/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Sampling, tokenAt, tokenProbabilities } from './next-token';
import { uniform } from './uniform';

const logitLists = fc.array(fc.integer({ min: -40, max: 40 }), { minLength: 1, maxLength: 30 });
const listOf = (numbers: readonly number[]) => Float32Array.from(numbers, (n) => n / 8);

/** softmax in doubles, by token. */
function softmax(logits: ArrayLike<number>, temperature: number): number[] {
  const weights = Array.from(logits, (logit) => Math.exp(logit / temperature));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Hugging Face's filters one after another, each as its own definition has it: [V], zeros where a token is out. */
function definition(logits: ArrayLike<number>, sampling: Sampling): number[] {
  const { temperature = 1, topK = logits.length, topP = 1, minP = 0 } = sampling;
  let shares = softmax(logits, temperature);
  const keep = (isKept: (share: number, token: number) => boolean) => {
    const kept = shares.map((share, token) => (isKept(share, token) ? share : 0));
    const sum = kept.reduce((total, share) => total + share, 0);
    shares = kept.map((share) => share / sum);
  };
  const kth = [...(logits as Float32Array)].sort((one, other) => other - one)[
    Math.min(topK, logits.length) - 1
  ]!;
  keep((_, token) => logits[token]! >= kth);
  const order = shares
    .map((share, token) => ({ share, token }))
    .sort((one, other) => other.share - one.share || one.token - other.token);
  let before = 0;
  const nucleus = new Set<number>();
  for (const { share, token } of order) {
    if (before < topP - 1e-12) nucleus.add(token);
    before += share;
  }
  keep((_, token) => nucleus.has(token));
  const most = Math.max(...shares);
  keep((share) => share >= minP * most);
  return shares;
}

function byToken(V: number, { tokens, probabilities }: ReturnType<typeof tokenProbabilities>): number[] {
  const shares = Array<number>(V).fill(0);
  tokens.forEach((token, n) => {
    shares[token] = probabilities[n]!;
  });
  return shares;
}

describe('tokenProbabilities', () => {
  it('is the definition, whatever filters are combined', () => {
    const cases = fc.record({
      logits: logitLists,
      temperature: fc.constantFrom(0.5, 1, 1.7),
      topK: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
      topP: fc.option(fc.constantFrom(0.013, 0.31, 0.507, 0.93, 0.9991, 1), { nil: undefined }),
      minP: fc.option(fc.constantFrom(0, 0.0517, 0.313, 1), { nil: undefined }),
    });
    fc.assert(
      fc.property(cases, ({ logits: numbers, ...sampling }) => {
        const logits = listOf(numbers);
        const shares = byToken(logits.length, tokenProbabilities(logits, sampling));
        const expected = definition(logits, sampling);
        for (const [token, share] of shares.entries()) expect(share).toBeCloseTo(expected[token]!, 12);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps by top-p likeliest tokens of which none can be left out', () => {
    fc.assert(
      fc.property(logitLists, fc.double({ min: 0.01, max: 0.999, noNaN: true }), (numbers, topP) => {
        const logits = listOf(numbers);
        const { tokens } = tokenProbabilities(logits, { temperature: 1, topP });
        const shares = softmax(logits, 1);
        const sum = tokens.reduce((total, token) => total + shares[token]!, 0);
        expect(sum).toBeGreaterThanOrEqual(topP - 1e-12);
        const least = Math.min(...[...tokens].map((token) => shares[token]!));
        expect(sum - least).toBeLessThan(topP + 1e-12);
        const left = shares.filter((_, token) => !tokens.includes(token));
        expect(left.every((share) => share <= least)).toBe(true);
      }),
    );
  });

  it('keeps tokens equal to the k-th by top-k', () => {
    const { tokens } = tokenProbabilities(Float32Array.of(1, 3, 2, 3, 2), { temperature: 1, topK: 3 });
    expect([...tokens]).toEqual([1, 2, 3, 4]);
  });

  it('divides positive logits of earlier tokens by the penalty, and multiplies negative ones, each once', () => {
    const logits = Float32Array.of(2, -1, 0.5, 1);
    const shares = byToken(
      4,
      tokenProbabilities(logits, { temperature: 1, repetitionPenalty: 2 }, [0, 1, 1]),
    );
    expect(shares).toEqual(softmax([1, -2, 0.5, 1], 1).map((share) => expect.closeTo(share, 12)));
    expect(tokenProbabilities(logits, { repetitionPenalty: 4 }, [0]).tokens[0]).toBe(3);
  });

  it('takes the first of the largest where the temperature is 0', () => {
    expect([...tokenProbabilities(Float32Array.of(1, 4, -2, 4)).tokens]).toEqual([1]);
    expect([...tokenProbabilities(Float32Array.of(Number.NaN, -Infinity, 0)).tokens]).toEqual([2]);
  });

  it('sorts only as much of a large vocabulary as counts, to the same result', () => {
    const logits = Float32Array.from({ length: 50_000 }, (_, n) => 10 * uniform(5, n) - (n % 7));
    for (const topP of [0.2, 0.95, 0.999999]) {
      const { tokens, probabilities } = tokenProbabilities(logits, { temperature: 1, topP });
      const shares = softmax(logits, 1).sort((one, other) => other - one);
      let sum = 0;
      const sums = shares.map((share) => {
        sum += share;
        return sum;
      });
      const count = sums.findIndex((total) => total >= topP) + 1;
      expect(Math.abs(tokens.length - count)).toBeLessThanOrEqual(1); // rounding of the sum
      expect(probabilities.reduce((total, share) => total + share, 0)).toBeCloseTo(1, 12);
    }
  });

  it.each<[Sampling, RegExp]>([
    [{ temperature: -1 }, /temperature must be at least 0/],
    [{ temperature: Number.NaN }, /temperature/],
    [{ temperature: 1, topK: 0 }, /topK must be a whole number above 0/],
    [{ temperature: 1, topP: 0 }, /topP must be above 0 and at most 1/],
    [{ temperature: 1, minP: 2 }, /minP must be from 0 to 1/],
    [{ repetitionPenalty: 0 }, /repetitionPenalty must be above 0/],
    [{ topP: 0.9 }, /filters need a temperature above 0/],
  ])('refuses %j', (sampling, message) => {
    const attempt = () => tokenProbabilities(Float32Array.of(1, 2), sampling);
    expect(attempt).toThrow(message);
    expect(attempt).toThrow(expect.toSatisfy(isAttentionError));
  });

  it('refuses logits of which none is a number', () => {
    expect(() => tokenProbabilities(Float32Array.of(Number.NaN, Number.NaN))).toThrow(
      /must be a finite number/,
    );
  });
});

describe('draws', () => {
  it('follow the exact distribution: chi-squared over 40,000 draws of three seeds', () => {
    const logits = Float32Array.of(0.3, 2, -1, 1.2, 0, 2.5, -3, 0.9, 1, -0.4);
    const distribution = tokenProbabilities(logits, { temperature: 0.9, topP: 0.97 });
    for (const seed of [1, 2, 3]) {
      const draws = 40_000;
      const counts = new Map<number, number>();
      for (let step = 0; step < draws; step++) {
        const token = tokenAt(distribution, uniform(seed, 0, step));
        counts.set(token, (counts.get(token) ?? 0) + 1);
      }
      expect([...counts.keys()].every((token) => distribution.tokens.includes(token))).toBe(true);
      const chi = [...distribution.tokens].reduce((sum, token, n) => {
        const expected = draws * distribution.probabilities[n]!;
        return sum + ((counts.get(token) ?? 0) - expected) ** 2 / expected;
      }, 0);
      // 99.99 % of chi-squared with so many degrees of freedom, by Wilson and Hilferty's approximation.
      const degrees = distribution.tokens.length - 1;
      const bound = degrees * (1 - 2 / (9 * degrees) + 3.72 * Math.sqrt(2 / (9 * degrees))) ** 3;
      expect(chi).toBeLessThan(bound);
    }
  });

  it('are uniform, and alike for no two entries or seeds', () => {
    const lists = [
      [1, 0],
      [1, 1],
      [2, 0],
      [-5, 0],
    ].map(([seed, entry]) => Array.from({ length: 10_000 }, (_, step) => uniform(seed!, entry!, step)));
    for (const [n, list] of lists.entries()) {
      const tenths = Array.from(
        { length: 10 },
        (_, tenth) => list.filter((x) => Math.floor(10 * x) === tenth).length,
      );
      const chi = tenths.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
      expect(chi).toBeLessThan(33.7); // 99.99 % of 9 degrees of freedom
      for (const other of lists.slice(n + 1)) {
        const products = list.reduce((sum, x, step) => sum + (x - 0.5) * (other[step]! - 0.5), 0);
        expect(Math.abs(products)).toBeLessThan((4 * Math.sqrt(10_000)) / 12); // four standard deviations
      }
    }
  });

  it('give the last token where rounding leaves the sum below the number drawn', () => {
    const thirds = { tokens: Uint32Array.of(7, 8), probabilities: Float64Array.of(0.5, 0.5 - 1e-12) };
    expect(tokenAt(thirds, 1 - 1e-13)).toBe(8);
  });
});
