// Arithmetic of spans: sorted, disjoint, half-open ranges. Each function takes time linear in its spans.
import { ConfigError } from '../contract/errors';
import type { Span } from '../contract/mask';

/**
 * The same set of columns as sorted spans inside [from, to), none of which touch.
 *
 * @param where named in errors
 * @throws ConfigError unless each span is a pair of whole numbers, or infinite ones
 */
export function normalizeSpans(
  spans: readonly Span[],
  within: Span,
  where = 'normalizeSpans',
): readonly Span[] {
  if (!Array.isArray(within) || !isBound(within[0]) || !isBound(within[1])) refuse(where, [within]);
  const [from, to] = within;
  if (!Array.isArray(spans)) refuse(where, spans);
  if (isNormal(spans)) return clipSpans(spans, [from, to]);
  for (const span of spans) if (!isBound(span?.[0]) || !isBound(span[1])) refuse(where, spans);
  const isSorted = spans.every((span, n) => n === 0 || spans[n - 1]![0] <= span[0]);
  return clipAndJoin(isSorted ? spans : [...spans].sort((one, other) => one[0] - other[0]), [from, to]);
}

/** True for what masks usually give; false needs a closer look. */
function isNormal(spans: readonly Span[]): boolean {
  let end = -Infinity;
  for (let n = 0; n < spans.length; n++) {
    const span = spans[n];
    if (!span) return false;
    const [a, b] = [span[0], span[1]];
    if (typeof a !== 'number' || typeof b !== 'number') return false;
    if ((a | 0) !== a || (b | 0) !== b || a <= end || b <= a) return false;
    end = b;
  }
  return true;
}

/** What of sorted disjoint spans lies inside [from, to). */
export function clipSpans(spans: readonly Span[], [from, to]: Span): readonly Span[] {
  if (spans.length === 0 || (spans[0]![0] >= from && spans.at(-1)![1] <= to)) return spans;
  if (from >= to) return [];
  const endedBefore = countBelow(spans.length, (n) => spans[n]![1], from + 1);
  const inside = spans.slice(
    endedBefore,
    countBelow(spans.length, (n) => spans[n]![0], to),
  );
  const last = inside.length - 1;
  if (last >= 0 && inside[0]![0] < from) inside[0] = [from, inside[0]![1]];
  if (last >= 0 && inside[last]![1] > to) inside[last] = [inside[last]![0], to];
  return inside;
}

/** How many of `count` numbers that do not fall are below a bound. */
export function countBelow(count: number, numberAt: (n: number) => number, bound: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numberAt(middle) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Columns in both of two sorted lists of disjoint spans.
 *
 * @throws ConfigError for other lists
 */
export function intersectSpans(one: readonly Span[], other: readonly Span[]): readonly Span[] {
  for (const spans of [one, other])
    if (!Array.isArray(spans) || !areSorted(spans)) refuse('intersectSpans', spans);
  return intersectSorted(one, other);
}

function areSorted(spans: readonly Span[]): boolean {
  return spans.every((span, n) => {
    const [from, to] = Array.isArray(span) ? span : [];
    return isBound(from) && isBound(to) && from <= to && (n === 0 || spans[n - 1]![1] <= from);
  });
}

/** As `intersectSpans`, of spans that are known to be sorted. */
export function intersectSorted(one: readonly Span[], other: readonly Span[]): readonly Span[] {
  if (one.length === 1) return clipSpans(other, one[0]!);
  if (other.length === 1) return clipSpans(one, other[0]!);
  const both: Span[] = [];
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    const from = Math.max(one[i]![0], other[j]![0]);
    const to = Math.min(one[i]![1], other[j]![1]);
    if (from < to) both.push([from, to]);
    if (one[i]![1] < other[j]![1]) i++;
    else j++;
  }
  return both;
}

/** Columns in either of two sorted lists of disjoint spans; spans that touch are joined. */
export function uniteSpans(one: readonly Span[], other: readonly Span[]): readonly Span[] {
  if (one.length === 0) return other;
  if (other.length === 0) return one;
  const either: Span[] = [];
  for (let i = 0, j = 0; i < one.length || j < other.length; ) {
    const isFromOne = j === other.length || (i < one.length && one[i]![0] <= other[j]![0]);
    join(either, isFromOne ? one[i++]! : other[j++]!);
  }
  return either;
}

function clipAndJoin(sorted: readonly Span[], [from, to]: Span): Span[] {
  const joined: Span[] = [];
  for (const span of sorted) {
    const begin = Math.max(span[0], from);
    const end = Math.min(span[1], to);
    if (begin < end) join(joined, [begin, end]);
  }
  return joined;
}

/** Adds a span that begins no earlier than the last. */
function join(spans: Span[], next: Span): void {
  const last = spans.at(-1);
  if (!last || last[1] < next[0]) spans.push(next);
  else if (last[1] < next[1]) spans[spans.length - 1] = [last[0], next[1]];
}

function isBound(x: unknown): x is number {
  return Number.isInteger(x) || x === Infinity || x === -Infinity;
}

function refuse(where: string, spans: unknown): never {
  const rule = 'spans must be a list of [from, to), each a whole number or infinite';
  throw new ConfigError(where, rule, { spans });
}
