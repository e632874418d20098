// What each head does, in numbers and by name.
import { checkNumber, normalizeOptions } from '@polyhead/core/layer';
import { type HeadPattern, headPattern } from './head-pattern';
import { type HeadWeights, headsShape } from './head-weights';
import { entropyOf, meanOver, type QueryRow, queryRows } from './query-rows';

/** Means over the rows that see a key; NaN where no row counts, or a weight is NaN. Rows are taken as shares of their sum. */
export interface HeadStatistics {
  /** Rows that see a key. */
  readonly rows: number;
  /** In nats: 0 where each query looks at one key, ln Skv where it looks at all evenly. */
  readonly entropy: number;
  /** |key - query|, weighted, in tokens. */
  readonly distance: number;
  /** Share of the query's own token, over the rows that have it among the keys. */
  readonly diagonal: number;
  /** Share of the first key. */
  readonly first: number;
  /** Share of the token before the query's own, over the rows that have one. */
  readonly previous: number;
  /** Share of the token after the query's own, over the rows that have one. */
  readonly next: number;
  /** The key with most weight over all rows, and its share. */
  readonly strongestColumn: { readonly key: number; readonly share: number };
  /** What the head does, by name. */
  readonly pattern: HeadPattern;
}

/** Where the queries stand. */
export interface StatisticsOptions {
  /** Token order of the first query, as in a layer's call. Default: the last query stands at the last key. */
  readonly queryStart?: number;
}

/**
 * Statistics of each head. Queries and keys are taken as tokens of one sequence, so distances say nothing about
 * cross-attention. Cut padding away first: hidden keys count as keys without weight.
 *
 * @param heads [H, Sq, Skv], weights from 0 to 1
 * @throws ShapeError, ConfigError
 * @example
 * const [first] = headStatistics(await readHeads(weights));
 * first.pattern; // 'diagonal'
 */
export function headStatistics(heads: HeadWeights, options: StatisticsOptions = {}): HeadStatistics[] {
  const [, Sq, Skv] = headsShape('headStatistics', heads);
  const { queryStart = Skv - Sq } = normalizeOptions('headStatistics', 'options', options, ['queryStart']);
  checkNumber('headStatistics', 'queryStart', queryStart, [Number.isInteger, 'a whole number']);
  return heads.map((weights) => statisticsOf(queryRows(weights, queryStart), Skv));
}

function statisticsOf(rows: readonly QueryRow[], keys: number): HeadStatistics {
  return {
    rows: rows.length,
    entropy: meanOver(rows, entropyOf),
    distance: meanOver(rows, ({ position, shares }) =>
      shares.reduce((sum, share, j) => sum + share * Math.abs(j - position), 0),
    ),
    diagonal: neighbor(rows, 0),
    first: meanOver(rows, ({ shares }) => shares[0]!),
    previous: neighbor(rows, -1),
    next: neighbor(rows, 1),
    strongestColumn: strongestColumn(rows, keys),
    pattern: headPattern(rows, keys),
  };
}

/** Share of the key this far from the query, over the rows that have one. */
function neighbor(rows: readonly QueryRow[], distance: number): number {
  const having = rows.filter(({ position, shares }) => shares[position + distance] !== undefined);
  return meanOver(having, ({ position, shares }) => shares[position + distance]!);
}

function strongestColumn(rows: readonly QueryRow[], keys: number) {
  const shares = Array.from({ length: keys }, (_, j) => meanOver(rows, (row) => row.shares[j]!));
  const key = shares.reduce((best, share, j) => (share > shares[best]! ? j : best), 0);
  return { key, share: shares[key]! };
}
