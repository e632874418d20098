import { describe, expect, it } from 'vitest';
import { qualityOf } from './text-quality';

describe('qualityOf', () => {
  it('is the divergence, agreement and perplexity of distributions by hand', () => {
    const logits = (...p: readonly number[]) => Float32Array.from(p, (x) => Math.log(x) + 3);
    const exact = [logits(0.5, 0.25, 0.25), logits(0.25, 0.5, 0.25)];
    const own = [logits(0.25, 0.5, 0.25), logits(0.25, 0.5, 0.25)];
    const quality = qualityOf(exact, own, [0, 1]);
    // Behind the first token: 0.5 ln 2 - 0.25 ln 2; behind the second nothing.
    expect(quality.meanDivergence).toBeCloseTo((0.25 * Math.log(2)) / 2, 6);
    expect(quality.divergence99).toBeCloseTo(0.99 * 0.25 * Math.log(2), 6);
    expect(quality.agreement).toBe(0.5);
    expect(quality.exactPerplexity).toBeCloseTo(4, 5);
    expect(quality.perplexity).toBeCloseTo(2, 5);
  });
});
