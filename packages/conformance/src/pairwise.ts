// A covering array: few rows in which any two values of different factors meet at least once.

type Factors = { readonly [factor: string]: readonly unknown[] };
type RowOf<F extends Factors> = { readonly [Name in keyof F]: F[Name][number] };

/** A value of a factor, both by number. */
type Choice = readonly [factor: number, value: number];

/** Greedy and without chance: a row starts at the first pair not met yet and adds the values that meet most. */
export function pairwise<F extends Factors>(factors: F): RowOf<F>[] {
  const names = Object.keys(factors);
  const values = names.map((name, factor) => factors[name]!.map((_, value): Choice => [factor, value]));
  const open = new Map<string, readonly [Choice, Choice]>();
  for (const [n, mine] of values.entries()) {
    for (const other of values.slice(n + 1).flat())
      for (const one of mine) open.set(keyOf(one, other), [one, other]);
  }
  const rows: RowOf<F>[] = [];
  for (let [pair] = open.values(); pair; [pair] = open.values()) {
    const row: Choice[] = [...pair];
    for (const candidates of values) {
      if (row.some(([factor]) => factor === candidates[0]![0])) continue;
      row.push(
        bestOf(candidates, (candidate) => row.filter((one) => open.has(keyOf(one, candidate))).length),
      );
    }
    for (const one of row) for (const other of row) open.delete(keyOf(one, other));
    rows.push(Object.fromEntries(row.map(([n, v]) => [names[n]!, factors[names[n]!]![v]])) as RowOf<F>);
  }
  return rows;
}

function keyOf(one: Choice, other: Choice): string {
  return one[0] < other[0] ? `${one} ${other}` : `${other} ${one}`;
}

function bestOf(candidates: readonly Choice[], gain: (candidate: Choice) => number): Choice {
  return candidates.reduce((best, candidate) => (gain(candidate) > gain(best) ? candidate : best));
}
