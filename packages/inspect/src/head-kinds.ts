// How far each head does one of the things that heads are known for: shares of its weight, by where and what tokens are.
import { ConfigError } from '@polyhead/core';
import { type HeadWeights, headsShape } from './head-weights';

/**
 * Shares of a head's weight, means over the queries that can have it; NaN where none can. Each is 1 for a head that does
 * that alone. What an even head has is given by a map of even weights.
 */
export interface HeadKinds {
  /** The query's own token. */
  readonly itself: number;
  /** The token before the query's own (Voita et al. 2019, 1905.09418, "positional"; Clark et al. 2019, 1906.04341). */
  readonly previous: number;
  /** The token after it; NaN where no head sees later tokens. */
  readonly next: number;
  /** Other places of the query's token, of the queries whose token stands elsewhere, too (Wang et al. 2022, 2211.00593). */
  readonly sameToken: number;
  /**
   * What followed earlier places of the query's token, of the queries that have such (Olsson et al. 2022, 2209.11895, "prefix
   * matching", on random tokens that are repeated).
   */
  readonly induction: number;
  /**
   * The key that takes most of the queries that see it and do not stand there, whatever they are (Xiao et al. 2023,
   * 2309.17453; Gu et al. 2024, 2410.10781). Keys that are seen by fewer than half of the queries do not count.
   */
  readonly sink: number;
  /** The place of that key; -1 where there is none. */
  readonly sinkKey: number;
}

/**
 * What heads are known for, of each head of a map. Random tokens, repeated once, tell these apart: in text the same token is
 * often the previous one, or the first.
 *
 * @param heads [H, S, S], weights of one sequence to itself, from 0 to 1; heads of several layers may be put together
 * @param tokens [S]
 * @throws ShapeError, ConfigError
 * @example
 * const [first] = headKinds(await readHeads(weights), [...ids, ...ids]);
 * first.induction; // 0.9: it finds what followed last time
 */
export function headKinds(heads: HeadWeights, tokens: readonly number[]): HeadKinds[] {
  const where = 'headKinds';
  const [, Sq, Skv] = headsShape(where, heads);
  if (!Array.isArray(tokens) || tokens.length !== Skv || Sq !== Skv) {
    throw new ConfigError(where, 'there must be a token for each query and for each key', {
      '[Sq, Skv]': [Sq, Skv],
      tokens,
    });
  }
  const isCausal = heads.every((rows) => rows.every((row, i) => row.every((w, j) => j <= i || w === 0)));
  const sees = (i: number, j: number) => j >= 0 && j < (isCausal ? i + 1 : Skv);
  const elsewhere = tokens.map((token, i) => placesOf(tokens, token).filter((j) => j !== i && sees(i, j)));
  const behind = elsewhere.map((places, i) => places.filter((j) => j + 1 < i).map((j) => j + 1));
  const near = (distance: number) => tokens.map((_, i) => (sees(i, i + distance) ? [i + distance] : []));
  const cells = {
    itself: near(0),
    previous: near(-1),
    next: near(1),
    sameToken: elsewhere,
    induction: behind,
  };
  return heads.map((rows) => {
    const share = (name: keyof typeof cells) => meanShare(rows, cells[name]);
    return {
      itself: share('itself'),
      previous: share('previous'),
      next: share('next'),
      sameToken: share('sameToken'),
      induction: share('induction'),
      ...sinkOf(rows, sees),
    };
  });
}

const placesOf = (tokens: readonly number[], wanted: number) =>
  tokens.flatMap((token, j) => (token === wanted ? [j] : []));

/** Of the rows that have such keys, the mean of their weight. */
function meanShare(rows: HeadWeights[number], keys: readonly (readonly number[])[]): number {
  const having = [...rows.keys()].filter((i) => keys[i]!.length > 0);
  const weightOf = (i: number) => keys[i]!.reduce((sum, j) => sum + rows[i]![j]!, 0);
  return having.reduce((sum, i) => sum + weightOf(i), 0) / having.length;
}

function sinkOf(
  rows: HeadWeights[number],
  sees: (i: number, j: number) => boolean,
): { readonly sink: number; readonly sinkKey: number } {
  const shares = rows.map((_, j) => {
    const seeing = rows.filter((__, i) => i !== j && sees(i, j));
    if (seeing.length === 0 || seeing.length < (rows.length - 1) / 2) return -1;
    return seeing.reduce((sum, row) => sum + row[j]!, 0) / seeing.length;
  });
  const sink = Math.max(...shares);
  return sink < 0 ? { sink: Number.NaN, sinkKey: -1 } : { sink, sinkKey: shares.indexOf(sink) };
}
