// The positions of cached tokens, as runs of consecutive numbers: nearly always one run.
import type { TokenPositions } from '@polyhead/core';

/** Positions of the tokens of one batch entry, in token order. */
export type PositionRuns = readonly { readonly first: number; readonly count: number }[];

/** The position after the last token; 0 where there is none. */
export function nextPosition(runs: PositionRuns): number {
  const last = runs.at(-1);
  return last ? last.first + last.count : 0;
}

/** The positions of the first `count` of S new tokens of batch entry b. */
export function runsOf(
  positions: TokenPositions,
  b: number,
  { count, S }: { readonly count: number; readonly S: number },
): PositionRuns {
  if (positions.start) {
    const { start } = positions;
    return count > 0 ? [{ first: start[start.length === 1 ? 0 : b]!, count }] : [];
  }
  const row = positions.each.length === S ? 0 : b * S; // one row of positions serves the whole batch
  const each = [...positions.each.subarray(row, row + count)];
  return each.reduce<PositionRuns>((runs, first) => appendRuns(runs, [{ first, count: 1 }]), []);
}

export function appendRuns(runs: PositionRuns, more: PositionRuns): PositionRuns {
  const [next, ...rest] = more;
  const last = runs.at(-1);
  if (!next || !last || next.first !== nextPosition(runs)) return [...runs, ...more];
  return [...runs.slice(0, -1), { first: last.first, count: last.count + next.count }, ...rest];
}

/** The positions of the first `length` tokens. */
export function cropRuns(runs: PositionRuns, length: number): PositionRuns {
  const kept: { first: number; count: number }[] = [];
  let left = length;
  for (const { first, count } of runs) {
    if (left > 0) kept.push({ first, count: Math.min(count, left) });
    left -= count;
  }
  return kept;
}

/** The positions of all batch entries; behind the last token of a shorter one they mean nothing. */
export function tokenPositions(entries: readonly PositionRuns[], longest: number): TokenPositions {
  if (entries.every((runs) => runs.length <= 1)) return { start: entries.map((runs) => runs[0]?.first ?? 0) };
  const each = new Int32Array(entries.length * longest);
  entries.forEach((runs, b) => {
    let at = b * longest;
    for (const { first, count } of runs) for (let n = 0; n < count; n++) each[at++] = first + n;
    each.fill(nextPosition(runs), at, (b + 1) * longest);
  });
  return { each };
}
