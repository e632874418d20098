import { ShapeError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask } from '../contract/mask';
import { countsOf, isListOfLists } from './counts-of';

/**
 * Keys from a length on are padding: `lengths[b]` for a whole batch entry, or `lengths[b][i]` for each query row. Left
 * padding counts. A length beyond the last key hides nothing. It never moves the diagonal of `causal`.
 *
 * @param lengths [B], or [B][Sq]
 * @throws ConfigError for a length that is not a whole number of at least 0
 * @throws ShapeError in a call of another batch, or of another number of queries
 */
export const validLengths = /* @__PURE__ */ withKind(
  'validLengths',
  ['lengths'],
  (lengths: readonly number[] | readonly (readonly number[])[]): Mask => {
    const perRow = isListOfLists(lengths);
    const rows = perRow
      ? lengths.map((row) => countsOf('validLengths', 'lengths', row))
      : countsOf('validLengths', 'lengths', lengths).map((length) => [length]);
    return {
      name: 'validLengths',
      perBatch: true,
      perHead: false,
      spans: ({ b, index }) => [[0, rows[b]![perRow ? index : 0]!]],
      check({ batch, queries }) {
        if (rows.length === batch && rows.every((row) => row.length === (perRow ? queries : 1))) return;
        const rule = `one length for each ${perRow ? 'query row' : 'batch entry'} is needed`;
        throw new ShapeError('validLengths', rule, {
          'lengths needed': perRow ? `[${batch}][${queries}]` : `[${batch}]`,
          lengths: perRow ? rows : rows.flat(),
        });
      },
      toJSON: () => ({ kind: 'validLengths', lengths: perRow ? rows : rows.flat() }),
    };
  },
);
