// Arithmetic of spans: sorted, disjoint, half-open ranges.
import type { Span } from '../contract/mask';

/** The same set of columns as sorted disjoint spans inside [from, to). */
export function normalizeSpans(spans: readonly Span[], [from, to]: Span): Span[] {
  const clipped = spans
    .map(([a, b]): Span => [Math.max(a, from), Math.min(b, to)])
    .filter(([a, b]) => a < b)
    .sort((one, other) => one[0] - other[0]);
  const merged: [number, number][] = [];
  for (const [a, b] of clipped) {
    const last = merged.at(-1);
    if (last && a <= last[1]) last[1] = Math.max(last[1], b);
    else merged.push([a, b]);
  }
  return merged;
}

/** Columns in both. */
export function intersectSpans(one: readonly Span[], other: readonly Span[]): Span[] {
  const both: Span[] = [];
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    const [a, b] = one[i]!;
    const [c, d] = other[j]!;
    if (Math.max(a, c) < Math.min(b, d)) both.push([Math.max(a, c), Math.min(b, d)]);
    if (b < d) i++;
    else j++;
  }
  return both;
}
