import { withNormalSpans } from '../checks/check-mask';
import { ConfigError, ShapeError } from '../contract/errors';
import type { Mask, Span } from '../contract/mask';

/**
 * Several sequences packed in one: a query sees the keys of its own segment, wherever they lie.
 *
 * @param ids [B][S], the segment of each token; S may be longer than a call, as when decoding with a cache
 * @param keyIds [B][Skv], where keys are other tokens than queries; then `ids` is [B][Sq], one for each row of the call
 * @throws ConfigError for what is no list of lists
 * @throws ShapeError in a call of another batch, or of more tokens
 */
export function segments(ids: readonly ArrayLike<number>[], keyIds?: readonly ArrayLike<number>[]): Mask {
  for (const [name, given] of Object.entries({ ids, keyIds: keyIds ?? ids })) checkIds(name, given);
  const runs = (keyIds ?? ids).map(runsById);
  return withNormalSpans({
    name: 'segments',
    perBatch: true,
    perHead: false,
    spans: ({ b, index, query }) => runs[b]!.get(ids[b]![keyIds ? index : query]!) ?? [],
    check({ batch, queries, keys }) {
      const needed: [string, readonly ArrayLike<number>[], number][] = [['keyIds', keyIds ?? ids, keys]];
      if (keyIds) needed.push(['ids', ids, queries]);
      for (const [name, given, tokens] of needed) {
        if (given.length === batch && given.every((row) => row.length >= tokens)) continue;
        throw new ShapeError('segments', 'every token of every batch entry needs a segment', {
          'batch, tokens': [batch, tokens],
          [keyIds ? name : 'ids']: given.map((row) => row.length),
        });
      }
    },
  });
}

function checkIds(name: string, ids: readonly ArrayLike<number>[]): void {
  if (Array.isArray(ids) && ids.every((row) => typeof row === 'object' && Number.isInteger(row?.length)))
    return;
  throw new ConfigError('segments', `${name} must be a list of segments for each batch entry`, {
    [name]: ids,
  });
}

/** Where each id lies, as sorted spans. */
function runsById(ids: ArrayLike<number>): Map<number, Span[]> {
  const runs = new Map<number, Span[]>();
  for (let from = 0, to = 1; from < ids.length; from = to, to++) {
    const id = ids[from]!;
    while (to < ids.length && ids[to] === id) to++;
    const spans = runs.get(id) ?? [];
    spans.push([from, to]);
    runs.set(id, spans);
  }
  return runs;
}
