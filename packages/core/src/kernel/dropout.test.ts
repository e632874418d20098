import { describe, expect, it } from 'vitest';
import { dropoutFactor } from './dropout';

function factors(seed: number, rate: number): number[] {
  const all: number[] = [];
  for (let b = 0; b < 2; b++) {
    for (let h = 0; h < 3; h++) {
      for (let query = -2; query < 40; query++) {
        for (let key = 0; key < 50; key++) all.push(dropoutFactor({ rate, seed }, { b, h, query, key }));
      }
    }
  }
  return all;
}

describe('dropoutFactor', () => {
  it('keeps the expected weight: its mean is 1', () => {
    for (const rate of [0.1, 0.5, 0.9]) {
      const all = factors(7, rate);
      const mean = all.reduce((sum, factor) => sum + factor, 0) / all.length;
      const deviation = Math.sqrt(rate / (1 - rate) / all.length);
      expect(Math.abs(mean - 1)).toBeLessThan(4 * deviation);
      expect(new Set(all)).toEqual(new Set([0, 1 / (1 - rate)]));
    }
  });

  it('draws the same for the same seed, and something else for another', () => {
    expect(factors(1, 0.5)).toEqual(factors(1, 0.5));
    const [one, other] = [factors(1, 0.5), factors(2, 0.5)];
    const equal = one.filter((factor, i) => factor === other[i]).length / one.length;
    expect(equal).toBeGreaterThan(0.45);
    expect(equal).toBeLessThan(0.55);
  });

  it('draws each axis independently', () => {
    const at = (b: number, h: number, query: number, key: number) =>
      dropoutFactor({ rate: 0.5, seed: 3 }, { b, h, query, key }) > 0;
    for (const step of [
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 0, 1],
      [0, 0, 1, 1],
    ] as const) {
      let equal = 0;
      for (let n = 0; n < 4000; n++) {
        const [b, h, query, key] = [n % 3, (n >> 2) % 5, (n >> 4) % 20, n % 64] as const;
        equal += Number(
          at(b, h, query, key) === at(b + step[0], h + step[1], query + step[2], key + step[3]),
        );
      }
      expect(equal / 4000).toBeGreaterThan(0.42);
      expect(equal / 4000).toBeLessThan(0.58);
    }
  });
});
