// How differently two heads look at the same text.
import { type HeadWeights, headsShape } from './head-weights';

/**
 * The Jensen–Shannon divergence of each two heads, in nats, a mean over the queries: 0 where they look alike, ln 2 ≈ 0.69
 * where no key has weight in both (Clark et al. 2019, 1906.04341, cluster heads by it). Rows are taken as shares of their
 * sum; a query that sees nothing in one of the two is left out.
 *
 *     JS(p, q) = ½ KL(p ‖ m) + ½ KL(q ‖ m),  m = (p + q) / 2
 *
 * @param heads [H, Sq, Skv]; heads of several layers may be put together
 * @returns [H, H], NaN where no query counts
 * @throws ShapeError
 * @example
 * headDivergence([[[1, 0]], [[0, 1]]])[0]![1]; // 0.693
 */
export function headDivergence(heads: HeadWeights): number[][] {
  const [H, Sq] = headsShape('headDivergence', heads);
  const shares = heads.map((rows) =>
    rows.map((row) => {
      const sum = row.reduce((total, weight) => total + weight, 0);
      return sum === 0 ? undefined : row.map((weight) => weight / sum);
    }),
  );
  const table = Array.from({ length: H }, () => new Array<number>(H).fill(0));
  for (let a = 0; a < H; a++)
    for (let b = a; b < H; b++) {
      let [sum, rows] = [0, 0];
      for (let i = 0; i < Sq; i++) {
        const [p, q] = [shares[a]![i], shares[b]![i]];
        if (!p || !q) continue;
        sum += divergence(p, q);
        rows++;
      }
      table[a]![b] = sum / rows;
      table[b]![a] = sum / rows;
    }
  return table;
}

function divergence(p: readonly number[], q: readonly number[]): number {
  let sum = 0;
  for (let j = 0; j < p.length; j++) {
    const [x, y] = [p[j]!, q[j]!];
    if (x > 0) sum += (x / 2) * Math.log((2 * x) / (x + y));
    if (y > 0) sum += (y / 2) * Math.log((2 * y) / (x + y));
    if (Number.isNaN(x + y)) return Number.NaN;
  }
  return Math.max(0, sum); // rounding can leave -1e-17
}
