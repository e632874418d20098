import { ConfigError } from '../contract/errors';
import type { Mask, Span } from '../contract/mask';

/** True where query `query` of head `h` in batch entry `b` may see key `key`; both in token order. */
export type PairPredicate = (b: number, h: number, query: number, key: number) => boolean;

/**
 * Any rule, asked once for each pair when the mask is compiled. Say which axes it ignores, and it is asked less.
 *
 * @param rule true = may attend
 */
export function predicate(
  rule: PairPredicate,
  { perBatch = true, perHead = true }: { perBatch?: boolean; perHead?: boolean } = {},
): Mask {
  if (typeof rule !== 'function') {
    throw new ConfigError('predicate', 'rule must be a function (b, h, query, key) => boolean', { rule });
  }
  return {
    name: 'predicate',
    perBatch,
    perHead,
    spans: ({ b, h, query, end }) => runsOf((key) => rule(b, h, query, key), end),
  };
}

/** The maximal runs of columns in [0, end) where `isVisible` holds. */
function runsOf(isVisible: (column: number) => boolean, end: number): Span[] {
  const runs: Span[] = [];
  for (let column = 0; column < end; column++) {
    if (!isVisible(column)) continue;
    const from = column;
    while (column + 1 < end && isVisible(column + 1)) column++;
    runs.push([from, column + 1]);
  }
  return runs;
}
