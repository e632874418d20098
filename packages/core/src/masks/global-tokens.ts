import { ShapeError } from '../contract/errors';
import type { Mask, Span } from '../contract/mask';
import { countsOf, isListOfLists } from './counts-of';
import { normalizeSpans } from './spans';

/**
 * Some tokens see all, and are seen by all. `anyOf(slidingWindow(…), globalTokens(…))` is Longformer's pattern
 * (Beltagy et al. 2020, 2004.05150).
 *
 * @param tokens places in token order: for all batch entries, or [B] lists of them
 * @throws ConfigError for a place that is not a whole number of at least 0
 * @throws ShapeError in a call of another batch
 */
export function globalTokens(tokens: readonly number[] | readonly (readonly number[])[]): Mask {
  const perBatch = isListOfLists(tokens);
  const lists = (perBatch ? tokens : [tokens]).map((list) => countsOf('globalTokens', 'tokens', list));
  const columns = lists.map((list) =>
    normalizeSpans(
      list.map((token): Span => [token, token + 1]),
      [0, Infinity],
    ),
  );
  return {
    name: 'globalTokens',
    perBatch,
    perHead: false,
    spans({ b, query, end }) {
      const entry = perBatch ? b : 0;
      return lists[entry]!.includes(query) ? [[0, end]] : columns[entry]!;
    },
    check({ batch }) {
      if (!perBatch || lists.length === batch) return;
      throw new ShapeError('globalTokens', 'one list for each batch entry is needed', {
        batch,
        lists: lists.length,
      });
    },
  };
}
