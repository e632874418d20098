// Heads made to do one thing, and even ones, whose shares are counted by hand.
import { describe, expect, it } from 'vitest';
import { headKinds } from './head-kinds';

/** Seven tokens that stand twice: as ids, and where they stood before. */
const n = 7;
const tokens = Array.from({ length: 2 * n }, (_, i) => 10 + (i % n));

/** A head whose queries look at one key each; where there is none, at the first. */
const looking = (key: (i: number) => number | undefined) =>
  tokens.map((_, i) => tokens.map((__, j) => Number(j === (key(i) ?? 0))));

describe('headKinds', () => {
  it.each([
    ['itself', looking((i) => i)],
    ['previous', looking((i) => (i > 0 ? i - 1 : undefined))],
    ['next', looking((i) => (i + 1 < 2 * n ? i + 1 : undefined))],
    ['sameToken', looking((i) => (i + n) % (2 * n))],
    ['induction', looking((i) => (i >= n ? i - n + 1 : undefined))],
    ['sink', looking(() => 0)],
  ] as const)('gives 1 to a head that only does that: %s', (name, head) => {
    const [kinds] = headKinds([head], tokens);
    expect(kinds![name]).toBe(1);
    const others = (['itself', 'previous', 'next', 'sameToken', 'induction'] as const).filter(
      (one) => one !== name,
    );
    for (const other of others) expect(kinds![other]).not.toBeGreaterThan(0.2);
  });

  it('gives an even causal head the share of the keys it sees', () => {
    const even = tokens.map((_, i) => tokens.map((__, j) => (j <= i ? 1 / (i + 1) : 0)));
    const [kinds] = headKinds([even], tokens);
    const [first, second] = [0, 1].map((from) => {
      let sum = 0;
      for (let i = from; i < 2 * n; i++) sum += 1 / (i + 1);
      return sum / (2 * n - from);
    });
    let later = 0;
    for (let i = n; i < 2 * n; i++) later += 1 / (i + 1) / n;
    expect(kinds!.itself).toBeCloseTo(first!, 12);
    expect(kinds!.previous).toBeCloseTo(second!, 12);
    expect(kinds!.next).toBeNaN();
    expect(kinds!.sameToken).toBeCloseTo(later, 12);
    expect(kinds!.induction).toBeCloseTo(later, 12);
    expect([kinds!.sink, kinds!.sinkKey]).toEqual([expect.closeTo(second!, 12), 0]);
  });

  it('finds a sink that is not the first key, and counts no key that few queries see', () => {
    const [middle] = headKinds([looking(() => 3)], tokens);
    expect([middle!.sink, middle!.sinkKey]).toEqual([1, 3]);
    const late = tokens.map((_, i) => tokens.map((__, j) => Number(j === (i === 2 * n - 1 ? 2 * n - 2 : 0))));
    expect(headKinds([late], tokens)[0]!.sinkKey).toBe(0);
  });

  it('is NaN for what no query of a text can do', () => {
    const [kinds] = headKinds([[[1]]], [5]);
    expect(kinds).toEqual({
      itself: 1,
      ...{ previous: Number.NaN, next: Number.NaN, sameToken: Number.NaN, induction: Number.NaN },
      ...{ sink: Number.NaN, sinkKey: -1 },
    });
  });

  it('refuses maps of other tokens', () => {
    expect(() => headKinds([[[1, 0]]], [1, 2])).toThrow(/headKinds: there must be a token for each query/);
    expect(() => headKinds([[[1]]], [1, 2])).toThrow(/tokens/);
    expect(() => headKinds([], [1])).toThrow(/heads must be numbers/);
  });
});
