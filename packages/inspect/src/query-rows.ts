// The rows of a head that see something, as shares, each with its place among the keys.
import type { HeadWeights } from './head-weights';

export interface QueryRow {
  /** Token order of the query: the key it stands at. */
  readonly position: number;
  /** Weights divided by their sum, so that what a sink takes is left out. */
  readonly shares: readonly number[];
}

/** Rows in order; one whose weights are all 0 sees nothing and is left out. */
export function queryRows(rows: HeadWeights[number], queryStart: number): QueryRow[] {
  return rows.flatMap((weights, i) => {
    const sum = weights.reduce((total, weight) => total + weight, 0);
    return sum === 0 ? [] : [{ position: queryStart + i, shares: weights.map((weight) => weight / sum) }];
  });
}

/** Mean of a number of each row; NaN without rows. */
export function meanOver(rows: readonly QueryRow[], of: (row: QueryRow) => number): number {
  return rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
}

/** Entropy of a row in nats: 0 where one key has all, ln n where n keys share evenly, NaN where a share is NaN. */
export function entropyOf({ shares }: QueryRow): number {
  return shares.reduce((sum, share) => (share <= 0 ? sum : sum - share * Math.log(share)), 0);
}
