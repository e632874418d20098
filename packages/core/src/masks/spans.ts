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
  [from, to]: Span,
  where = 'normalizeSpans',
): readonly Span[] {
  if (!Array.isArray(spans)) refuse(where, spans);
  let [isNormal, isSorted, begin, end] = [true, true, -Infinity, -Infinity];
  for (const span of spans as readonly Span[]) {
    if (!isBound(span?.[0]) || !isBound(span[1])) refuse(where, spans);
    isNormal &&=
      span[0] >= from && span[1] <= to && span[0] < span[1] && (span[0] > end || end === -Infinity);
    isSorted &&= span[0] >= begin;
    [begin, end] = span;
  }
  if (isNormal) return spans;
  return clipAndJoin(isSorted ? spans : [...spans].sort((one, other) => one[0] - other[0]), [from, to]);
}

/** Columns in both of two sorted lists of disjoint spans. */
export function intersectSpans(one: readonly Span[], other: readonly Span[]): Span[] {
  const both: Span[] = [];
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    const [a, b] = [one[i]!, other[j]!];
    const from = Math.max(a[0], b[0]);
    const to = Math.min(a[1], b[1]);
    if (from < to) both.push(reused(a, b, [from, to]));
    if (a[1] < b[1]) i++;
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
    if (begin < end) join(joined, isSpan(span, begin, end) ? span : [begin, end]);
  }
  return joined;
}

/** Adds a span that begins no earlier than the last. */
function join(spans: Span[], next: Span): void {
  const last = spans.at(-1);
  if (!last || last[1] < next[0]) spans.push(next);
  else if (last[1] < next[1]) spans[spans.length - 1] = [last[0], next[1]];
}

/** An equal span, where there is one: a row may have thousands. */
function reused(one: Span, other: Span, span: Span): Span {
  if (isSpan(one, span[0], span[1])) return one;
  return isSpan(other, span[0], span[1]) ? other : span;
}

function isSpan(span: Span, from: number, to: number): boolean {
  return span[0] === from && span[1] === to;
}

function isBound(x: unknown): boolean {
  return Number.isInteger(x) || x === Infinity || x === -Infinity;
}

function refuse(where: string, spans: unknown): never {
  const rule = 'spans must be a list of [from, to), each a whole number or infinite';
  throw new ConfigError(where, rule, { spans });
}
