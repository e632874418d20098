// A number for each token of a batch entry, its position or its token order, as runs of consecutive ones: nearly always
// one run.
import type { Span, TokenPositions } from '@polyhead/core';

/** The numbers of the tokens of one batch entry, in token order. */
export type TokenRuns = readonly { readonly first: number; readonly count: number }[];

/** The number after that of the last token; 0 where there is no token. */
export function nextNumber(runs: TokenRuns): number {
  const last = runs.at(-1);
  return last ? last.first + last.count : 0;
}

/** The numbers of the first `count` of S new tokens of batch entry b. */
export function runsOf(
  positions: TokenPositions,
  b: number,
  { count, S }: { readonly count: number; readonly S: number },
): TokenRuns {
  if (positions.start) {
    const { start } = positions;
    return count > 0 ? [{ first: start[start.length === 1 ? 0 : b]!, count }] : [];
  }
  const row = positions.each.length === S ? 0 : b * S; // one row of positions serves the whole batch
  const each = [...positions.each.subarray(row, row + count)];
  return each.reduce<TokenRuns>((runs, first) => appendRuns(runs, [{ first, count: 1 }]), []);
}

/** The numbers of some tokens, then those of more. */
export function appendRuns(runs: TokenRuns, more: TokenRuns): TokenRuns {
  const next = more[0];
  const last = runs.at(-1);
  if (!next || !last || next.first !== nextNumber(runs)) return [...runs, ...more];
  const joined = { first: last.first, count: last.count + next.count };
  if (runs.length === 1 && more.length === 1) return [joined];
  return [...runs.slice(0, -1), joined, ...more.slice(1)];
}

/** The numbers of the tokens inside the spans, which count tokens and are sorted and disjoint. */
export function selectRuns(runs: TokenRuns, spans: readonly Span[]): TokenRuns {
  return spans.reduce<TokenRuns>((selected, [from, to]) => {
    let token = 0;
    for (const { first, count } of runs) {
      const [start, end] = [Math.max(from, token), Math.min(to, token + count)];
      if (start < end)
        selected = appendRuns(selected, [{ first: first + start - token, count: end - start }]);
      token += count;
    }
    return selected;
  }, []);
}

/** The numbers of all batch entries; behind the last token of a shorter one they count on, and mean nothing. */
export function tokenPositions(entries: readonly TokenRuns[], longest: number): TokenPositions {
  if (entries.every((runs) => runs.length <= 1)) return { start: entries.map((runs) => runs[0]?.first ?? 0) };
  const each = new Int32Array(entries.length * longest);
  entries.forEach((runs, b) => {
    let at = b * longest;
    const all = [...runs, { first: nextNumber(runs), count: (b + 1) * longest - at - countOf(runs) }];
    for (const { first, count } of all) for (let n = 0; n < count; n++) each[at++] = first + n;
  });
  return { each };
}

function countOf(runs: TokenRuns): number {
  return runs.reduce((total, { count }) => total + count, 0);
}
