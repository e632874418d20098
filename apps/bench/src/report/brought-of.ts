// What each choice brings a token, out of all cells of a result: of two that differ in one choice alone, and took turns.
import { fewTokens } from '../compare/comparison';
import { contrastOf, projectionsOf } from '../compare/what-it-brings';
import type { Brought, CellAxes, MatrixResult, MeasuredCell } from '../matrix/result';
import { isBusy } from '../matrix/speed-up';
import { lengthsIn, turnsOf } from './cell-lines';

type Choice = 'kernel' | 'cache' | 'variant';
type Pair = readonly [from: MeasuredCell, to: MeasuredCell];
type Pairs = { readonly [Name in 'kernel' | 'heads' | 'storage']?: Pair };

/** Of the largest layer that was decoded, with one context for all; undefined where there is no such pair. */
export function broughtOf({ cells, layers, memory }: MatrixResult): Brought | undefined {
  const decode = cells.filter(({ phase, batch }) => phase === 'decode' && batch === 1);
  const ordered = [...layers].sort((a, b) => b.embedDim - a.embedDim);
  for (const { name, title } of ordered) {
    const own = decode.filter(({ layer }) => layer === name);
    const pairs = mostPairs(own, cells[0]!.variant);
    const { kernel, heads, storage } = pairs;
    const full = heads?.[0] ?? kernel?.[1] ?? storage?.[1];
    if (!full) continue;
    const rows = memory.filter((row) => row.layer === name && row.cache === full.cache);
    const busy = isBusy(Object.values(pairs).flat());
    return {
      layer: title,
      ...{ tokens: full.tokens, batch: full.batch, cache: full.cache },
      ...(kernel && { kernel: contrastOf(kernel, busy) }),
      ...(heads && { heads: contrastOf(heads, busy), ...projectionsIn(own, heads) }),
      ...(storage && { storage: contrastOf(storage, busy) }),
      outweighs: [full, ...(heads ? [heads[1]] : [])].flatMap(({ variant, keyValueHeads }) => {
        const tokens = rows.find((row) => row.variant === variant)?.outweighsFrom;
        return tokens === undefined ? [] : [{ keyValueHeads, tokens }];
      }),
      busy,
    };
  }
  return undefined;
}

/** With the length that has the most of them, the longest where several do. */
function mostPairs(cells: readonly MeasuredCell[], variant: string): Pairs {
  const lengths = [...lengthsIn(cells)].sort((a, b) => b - a);
  return lengths
    .map((tokens) =>
      pairsIn(
        cells.filter((cell) => cell.tokens === tokens),
        variant,
      ),
    )
    .reduce((most, one) => (Object.keys(one).length > Object.keys(most).length ? one : most), {});
}

function pairsIn(cells: readonly MeasuredCell[], variant: string): Pairs {
  const kernel = pairOf(
    cells,
    'kernel',
    (from, to) => from.ran === 'composed' && to.kernel === 'best' && to.ran !== from.ran,
  );
  const usual = kernel?.[1].cache ?? cells[0]!.cache;
  const isFewer = (from: MeasuredCell, to: MeasuredCell) =>
    from.variant === variant && to.keyValueHeads < from.keyValueHeads;
  const heads = pairOf(
    cells,
    'variant',
    (from, to) => isFewer(from, to) && to.kernel === 'best' && to.cache === usual,
  );
  const storage = pairOf(cells, 'cache', (from, to) => from.cache === 'growing' && to.cache === 'static');
  return { ...(kernel && { kernel }), ...(heads && { heads }), ...(storage && { storage }) };
}

const choices: readonly (keyof CellAxes)[] = ['variant', 'position', 'kernel', 'cache', 'backend', 'tokens'];

/** The first pair, in the order of the cells. */
function pairOf(
  cells: readonly MeasuredCell[],
  choice: Choice,
  fits: (from: MeasuredCell, to: MeasuredCell) => boolean,
): Pair | undefined {
  const others = choices.filter((name) => name !== choice);
  for (const to of cells) {
    const from = cells.find(
      (cell) =>
        turnsOf(cell) === turnsOf(to) && others.every((name) => cell[name] === to[name]) && fits(cell, to),
    );
    if (from) return [from, to];
  }
  return undefined;
}

/** Where the same two were measured in the same turns with an almost empty cache. */
function projectionsIn(cells: readonly MeasuredCell[], heads: Pair): Pick<Brought, 'projections'> {
  const others = choices.filter((name) => name !== 'tokens');
  const empty = heads.map((like) =>
    cells.find(
      (cell) =>
        cell.tokens === fewTokens &&
        turnsOf(cell) === turnsOf(like) &&
        others.every((name) => cell[name] === like[name]),
    ),
  );
  const found = [...heads, ...empty].filter((cell) => cell !== undefined);
  return found.length === 4 && heads[0].tokens > fewTokens
    ? projectionsOf(found.map(({ time }) => time.median))
    : {};
}
