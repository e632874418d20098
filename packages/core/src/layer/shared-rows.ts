// A layer that attends with the keys and values of another, of the same tokens: its cache is a view.
import { ConfigError, ShapeError, UnsupportedError } from '../contract/errors';
import type { KeyValueCache } from '../contract/key-value-cache';
import type { HeadsCall } from './attend-heads';

/** How many of the last tokens a cache can take back exactly, of each batch entry: [B]. So many of them see all they should. */
export function removableOf({ removable, lengths, nextOrder }: KeyValueCache): readonly number[] {
  return removable ?? lengths.map((length, b) => (nextOrder[b] === length ? length : 0));
}

/** Where the first token of a call stands, in order or position: behind those of the cache. A view has its tokens already. */
export function firstOfCall(
  { query, cache, lengths }: Pick<HeadsCall, 'query' | 'cache' | 'lengths'>,
  next: readonly number[],
): readonly number[] {
  return cache?.source ? next.map((n, b) => n - (lengths?.[b] ?? query.shape[2])) : next;
}

/** @throws ConfigError, ShapeError, UnsupportedError unless a view holds the tokens of a call, and all that the first of them sees */
export function checkView({ query, cross, lengths }: HeadsCall, view: KeyValueCache): void {
  if (cross)
    throw new ConfigError(
      'attendHeads',
      'a view shows the same tokens: cross-attention has a cache of its own',
    );
  const [B, , S] = query.shape;
  const counts = lengths ?? Array<number>(B).fill(S);
  if (counts.length !== B || !counts.every((count) => Number.isInteger(count) && count >= 0 && count <= S))
    throw new ShapeError('attendHeads', 'lengths must count tokens of the query, for each batch entry', {
      lengths,
      query,
    });
  const removable = removableOf(view);
  if (counts.every((count, b) => count <= removable[b]!)) return;
  throw new UnsupportedError(
    'attendHeads',
    'a view must show all that the tokens of a call see',
    ['the layer of its source comes first; and where that forgets, as a ring does, fewer tokens a call'],
    { 'tokens of the call': counts, 'of the newest so many see all': removable },
  );
}
