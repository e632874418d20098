// What each choice brings a token, out of all cells of a result: of two that differ in one choice alone, and took turns.
import { fewTokens } from '../compare/comparison';
import { projectionsOf } from '../compare/what-it-brings';
import type { Brought, CellAxes, MatrixResult, MeasuredCell } from '../matrix/result';
import { turnsOf } from './cell-lines';

type Contrast = NonNullable<Brought['kernel']>;
type Choice = 'kernel' | 'cache' | 'variant';

/** Of the largest layer that was decoded, with its longest context; undefined where there is no such pair. */
export function broughtOf({ cells, layers, memory }: MatrixResult): Brought | undefined {
  const decode = cells.filter(({ phase, batch }) => phase === 'decode' && batch === 1);
  const ordered = [...layers].sort((a, b) => b.embedDim - a.embedDim);
  for (const { name, title } of ordered) {
    const own = decode.filter(({ layer }) => layer === name).sort((a, b) => b.tokens - a.tokens);
    const kernel = pairOf(own, 'kernel', (from, to) => from.ran === 'composed' && to.kernel === 'best');
    const usual = kernel?.[1].cache ?? own[0]?.cache;
    const heads = pairOf(
      own,
      'variant',
      (from, to) =>
        from.variant === cells[0]!.variant &&
        to.keyValueHeads < from.keyValueHeads &&
        to.kernel === 'best' &&
        to.cache === usual,
    );
    const storage = pairOf(own, 'cache', (from, to) => from.cache === 'growing' && to.cache === 'static');
    const [, full] = kernel ?? storage ?? heads ?? [];
    if (!full) continue;
    const base = heads?.[0] ?? full;
    const rows = memory.filter((row) => row.layer === name && row.cache === base.cache);
    const pairs = [kernel, heads, storage].filter((pair) => pair !== undefined);
    return {
      layer: title,
      ...{ tokens: base.tokens, batch: base.batch, cache: base.cache },
      ...(kernel && { kernel: contrastOf(kernel) }),
      ...(heads && { heads: contrastOf(heads), ...projectionsIn(own, heads) }),
      ...(storage && { storage: contrastOf(storage) }),
      outweighs: [base, ...(heads ? [heads[1]] : [])].flatMap(({ variant, keyValueHeads }) => {
        const tokens = rows.find((row) => row.variant === variant)?.outweighsFrom;
        return tokens === undefined ? [] : [{ keyValueHeads, tokens }];
      }),
      busy: pairs.flat().some(({ busy }) => busy),
    };
  }
  return undefined;
}

const choices: readonly (keyof CellAxes)[] = ['variant', 'position', 'kernel', 'cache', 'backend', 'tokens'];

/** The first pair, in the order of the cells. */
function pairOf(
  cells: readonly MeasuredCell[],
  choice: Choice,
  fits: (from: MeasuredCell, to: MeasuredCell) => boolean,
): readonly [MeasuredCell, MeasuredCell] | undefined {
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
function projectionsIn(
  cells: readonly MeasuredCell[],
  heads: readonly [MeasuredCell, MeasuredCell],
): Pick<Brought, 'projections'> {
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

function contrastOf([from, to]: readonly [MeasuredCell, MeasuredCell]): Contrast {
  return { from: sideOf(from), to: sideOf(to), speedUp: from.time.median / to.time.median };
}

function sideOf({
  ran,
  keyValueHeads,
  cache,
  time,
  tokensPerSecond,
  cacheBytes,
  error,
}: MeasuredCell): Contrast['from'] {
  return {
    kernel: ran,
    ...{ keyValueHeads, cache, tokensPerSecond, error },
    milliseconds: time.median,
    cacheBytes: cacheBytes?.allocated ?? 0,
  };
}
