import { ShapeError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask, Span } from '../contract/mask';
import { countsOf, isListOfLists } from './counts-of';
import { normalizeSpans } from './spans';

/**
 * Some tokens see all, and are seen by all. `anyOf(slidingWindow(…), globalTokens(…))` is Longformer's pattern
 * (Beltagy et al. 2020, 2004.05150).
 *
 * @param tokens places in token order, counted from the entry's first token, behind left padding: for all batch entries,
 *   or [B] lists of them
 * @throws ConfigError for a place that is not a whole number of at least 0
 * @throws ShapeError in a call of another batch
 */
export const globalTokens = /* @__PURE__ */ withKind(
  'globalTokens',
  ['tokens'],
  (tokens: readonly number[] | readonly (readonly number[])[]): Mask => {
    const perBatch = isListOfLists(tokens);
    const lists = (perBatch ? tokens : [tokens]).map((list) => countsOf('globalTokens', 'tokens', list));
    const entries = lists.map((list) => ({ tokens: new Set(list), columnsFrom: columnsOf(list) }));
    return {
      name: 'globalTokens',
      perBatch,
      perHead: false,
      spans({ b, query, start, end }) {
        const entry = entries[perBatch ? b : 0]!;
        return entry.tokens.has(query - start) ? [[0, end]] : entry.columnsFrom(start);
      },
      check({ batch }) {
        if (!perBatch || lists.length === batch) return;
        throw new ShapeError('globalTokens', 'one list for each batch entry is needed', {
          batch,
          lists: lists.length,
        });
      },
      toJSON: () => ({ kind: 'globalTokens', tokens: perBatch ? lists : lists[0] }),
    };
  },
);

/** The columns of tokens, made anew only where the sequence starts elsewhere. */
function columnsOf(tokens: readonly number[]): (start: number) => readonly Span[] {
  const from = (start: number) =>
    normalizeSpans(
      tokens.map((token): Span => [start + token, start + token + 1]),
      [start, Infinity],
    );
  let latest = { start: 0, columns: from(0) };
  return (start) => {
    if (start !== latest.start) latest = { start, columns: from(start) };
    return latest.columns;
  };
}
