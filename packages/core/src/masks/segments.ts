import { withNormalSpans } from '../checks/check-mask';
import { ConfigError, ShapeError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask, Span } from '../contract/mask';

/**
 * Several sequences packed in one: a query sees the keys of its own segment, wherever they are. Padding, left padding too,
 * has ids as other tokens have.
 *
 * @param ids [B][S], the segment of each token; S may be longer than a call, as when decoding with a cache
 * @param keyIds [B][Skv], where keys are other tokens than queries; then `ids` is [B][Sq], one for each row of the call
 * @throws ConfigError for what is no list of lists of numbers
 * @throws ShapeError in a call of another batch, or of more tokens
 */
export const segments = /* @__PURE__ */ withKind(
  'segments',
  ['ids', 'keyIds'],
  (ids: readonly ArrayLike<number>[], keyIds?: readonly ArrayLike<number>[] | null): Mask => {
    const ofQueries = copyIds('ids', ids);
    const ofKeys = keyIds ? copyIds('keyIds', keyIds) : ofQueries;
    const runs = ofKeys.map(runsById);
    return withNormalSpans({
      name: 'segments',
      perBatch: true,
      perHead: false,
      spans: ({ b, index, query }) => runs[b]!.get(ofQueries[b]![keyIds ? index : query]!) ?? [],
      check({ batch, queries, keys }) {
        checkCount(keyIds ? 'keyIds' : 'ids', ofKeys, [batch, keys]);
        if (keyIds) checkCount('ids', ofQueries, [batch, queries]);
      },
      toJSON: () => ({ kind: 'segments', ids: ofQueries, ...(keyIds && { keyIds: ofKeys }) }),
    });
  },
);

function copyIds(name: string, ids: readonly ArrayLike<number>[]): readonly (readonly number[])[] {
  const isList = (row: unknown) =>
    typeof row === 'object' && Number.isInteger((row as number[] | null)?.length);
  const copy =
    Array.isArray(ids) && ids.every(isList) ? ids.map((row) => Array.from<number>(row)) : undefined;
  if (copy?.every((row) => row.every((id) => typeof id === 'number' && !Number.isNaN(id)))) return copy;
  throw new ConfigError('segments', `${name} must be a list of segments, numbers, for each batch entry`, {
    [name]: ids,
  });
}

function checkCount(
  name: string,
  ids: readonly (readonly number[])[],
  [batch, tokens]: readonly [number, number],
): void {
  if (ids.length === batch && ids.every((row) => row.length >= tokens)) return;
  throw new ShapeError('segments', 'every token of every batch entry needs a segment', {
    'batch, tokens': [batch, tokens],
    [name]: ids.map((row) => row.length),
  });
}

/** Where each id is, as sorted spans. */
function runsById(ids: readonly number[]): Map<number, Span[]> {
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
