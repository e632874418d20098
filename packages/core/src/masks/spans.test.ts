import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAttentionError } from '../contract/errors';
import type { Span } from '../contract/mask';
import { clipSpans, intersectSpans, normalizeSpans, uniteSpans } from './spans';

const range: Span = [-4, 12];
const bound = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: -6, max: 14 }) },
  { weight: 1, arbitrary: fc.constantFrom(-Infinity, Infinity) },
);
const anySpans = fc.array(fc.tuple(bound, bound), { maxLength: 8 });
const normalSpans = anySpans.map((spans) => normalizeSpans(spans, range));

const columns = (spans: readonly Span[]) => {
  const inside = Array.from({ length: 20 }, (_, n) => n - 6);
  return inside.filter((column) => spans.some(([from, to]) => from <= column && column < to));
};
const isNormal = (spans: readonly Span[]) =>
  spans.every(([from, to], n) => from < to && (n === 0 || spans[n - 1]![1] < from));

describe('spans', () => {
  it('become sorted ones that do not touch, of the same columns', () => {
    fc.assert(
      fc.property(anySpans, (spans) => {
        const before = structuredClone(spans);
        const result = normalizeSpans(spans, range);
        expect(columns(result)).toEqual(columns(spans).filter((x) => x >= range[0] && x < range[1]));
        expect(isNormal(result)).toBe(true);
        expect(spans).toEqual(before);
      }),
      { numRuns: 2000, seed: 1 },
    );
  });

  it('intersect, unite and are clipped column by column', () => {
    fc.assert(
      fc.property(normalSpans, normalSpans, bound, bound, (one, other, from, to) => {
        const [inOne, inOther] = [columns(one), columns(other)];
        expect(columns(intersectSpans(one, other))).toEqual(inOne.filter((x) => inOther.includes(x)));
        expect(columns(uniteSpans(one, other))).toEqual(columns([...one, ...other]));
        expect(columns(clipSpans(one, [from, to]))).toEqual(inOne.filter((x) => x >= from && x < to));
        for (const spans of [
          intersectSpans(one, other),
          uniteSpans(one, other),
          clipSpans(one, [from, to]),
        ]) {
          expect(isNormal(spans)).toBe(true);
        }
      }),
      { numRuns: 2000, seed: 2 },
    );
  });

  it('that are sorted and inside are given back as they are', () => {
    const spans: Span[] = [
      [0, 1],
      [3, 5],
    ];
    expect(normalizeSpans(spans, [0, 5])).toBe(spans);
  });

  it.each([
    ['NaN', [[0, Number.NaN]]],
    ['fractions', [[0, 1.5]]],
    ['strings', [['0', '3']]],
    ['big integers', [[0n, 3n]]],
    ['a hole', [undefined]],
    ['null', null],
    ['nothing', undefined],
    ['a promise', Promise.resolve([[0, 1]])],
    ['numbers', [0, 3]],
    ['one bound', [[3]]],
  ])('are no %s', (_name, spans) => {
    let error: unknown;
    try {
      normalizeSpans(spans as never, [0, 5], 'odd');
    } catch (thrown) {
      error = thrown;
    }
    expect(isAttentionError(error) && error.message).toMatch(/^odd: spans must be a list of \[from, to\)/);
  });
});
