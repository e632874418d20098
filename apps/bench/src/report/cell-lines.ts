// Cells of the matrix as lines over length. One case is the base; each line differs from it in one choice at most.
import type { CellAxes, MatrixResult, MeasuredCell, Phase } from '../matrix/result';
import type { Series } from '../page/chart';
import type { TableData } from '../page/table';
import { threeDigits } from '../print/format-number';

export interface CellLine {
  readonly name: string;
  /** By length. */
  readonly cells: readonly MeasuredCell[];
}

const choices = ['variant', 'position', 'kernel', 'cache', 'backend'] as const;
type Choice = (typeof choices)[number];

/** What each choice is where nothing is said. */
export type Base = Pick<CellAxes, Choice>;

/** The most frequent value of each choice, of the first variant. */
export function baseOf(cells: readonly MeasuredCell[]): Base {
  const mostFrequent = (choice: Choice) => {
    const counts = new Map<string, number>();
    for (const cell of cells) counts.set(cell[choice], (counts.get(cell[choice]) ?? 0) + 1);
    return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
  };
  return {
    variant: cells[0]!.variant,
    position: mostFrequent('position'),
    kernel: mostFrequent('kernel'),
    cache: mostFrequent('cache'),
    backend: mostFrequent('backend'),
  };
}

/** The comparison whose cells took turns, where a run has several: times of others were measured at other moments. */
export const turnsOf = ({ turns }: MeasuredCell) => turns;

/** Cells of one layer and phase, for one sequence. */
export const cellsOf = ({ cells }: MatrixResult, layer: string, phase: Phase) =>
  cells.filter((cell) => cell.layer === layer && cell.phase === phase && cell.batch === 1);

/** By the turns that they took: those that have several lengths, or all where none has. */
export function overLengths(cells: readonly MeasuredCell[]): MeasuredCell[][] {
  const groups = new Map<string | undefined, MeasuredCell[]>();
  for (const cell of cells) groups.set(turnsOf(cell), [...(groups.get(turnsOf(cell)) ?? []), cell]);
  const linesIn = (group: readonly MeasuredCell[]) => group.length / lengthsIn(group).size;
  const long = [...groups.values()].filter((group) => lengthsIn(group).size > 1);
  const several = long.filter((group) => linesIn(group) > 1);
  const longestIn = (group: readonly MeasuredCell[]) => Math.max(...group.map(({ tokens }) => tokens));
  const most = longestIn(several.flat());
  // One line alone is in another picture, too, unless it goes on behind the end of all.
  if (several.length > 0) return long.filter((group) => several.includes(group) || longestIn(group) > most);
  if (long.length > 0) return long;
  const all = [...groups.values()];
  const compared = all.filter((group) => group.length > 1);
  return compared.length > 0 ? compared : all;
}

export const lengthsIn = (cells: readonly MeasuredCell[]) => new Set(cells.map(({ tokens }) => tokens));

/** The base first; its choices are not named. */
export function linesOf(cells: readonly MeasuredCell[], base: Base): CellLine[] {
  const lines = new Map<string, MeasuredCell[]>();
  const othersOf = (cell: MeasuredCell) => choices.filter((choice) => cell[choice] !== base[choice]);
  const ran = cells.find((cell) => othersOf(cell).length === 0)?.ran;
  for (const cell of cells) {
    const others = othersOf(cell);
    if (others.length > 1) continue;
    if (others[0] === 'kernel' && cell.ran === ran) continue; // the best kernel by its own name
    const name = others.length === 0 ? base.variant : nameOf(others[0]!, cell);
    lines.set(name, [...(lines.get(name) ?? []), cell]);
  }
  const all = [...lines].map(([name, own]) => ({ name, cells: own.sort((a, b) => a.tokens - b.tokens) }));
  const isBase = ({ name }: CellLine) => Number(name === base.variant);
  return all.sort((a, b) => isBase(b) - isBase(a));
}

function nameOf(choice: Choice, cell: MeasuredCell): string {
  if (choice === 'variant') return cell.variant;
  if (choice === 'cache') return `${cell.cache} cache`;
  return choice === 'kernel' ? `${cell.ran}` : cell[choice];
}

/** What all lines have in common, in words. */
export function baseLine(
  { variant, kernel, cache, position, backend }: Base,
  [first]: readonly MeasuredCell[],
): string {
  const parts = [
    variant,
    kernel === 'best' ? `kernel ${first!.ran}, the best here` : `kernel ${kernel}`,
    ...(cache === 'none' ? [] : [`${cache} cache`]),
    ...(position === 'none' ? [] : [`${position} positions`]),
    backend,
  ];
  return parts.join(', ');
}

/** Rates with their spread: of times the slower tenth is the lower rate. */
export function rateSeries(lines: readonly CellLine[], { cells: all }: MatrixResult): Series[] {
  const variants = [...new Set(all.map(({ variant }) => variant))]; // of one color in all pictures
  const others = lines.filter(({ name }) => !variants.includes(name)).map(({ name }) => name);
  return lines.map(({ name, cells }) => ({
    name,
    look: variants.includes(name) ? variants.indexOf(name) : variants.length + others.indexOf(name),
    marks: cells.map((cell) => ({
      x: cell.tokens,
      y: cell.tokensPerSecond,
      low: rateAt(cell, cell.time.p90),
      high: rateAt(cell, cell.time.p10),
      ...(cell.busy && { isUnsure: true as const }),
    })),
  }));
}

const rateAt = ({ tokensPerSecond, time }: MeasuredCell, milliseconds: number) =>
  (tokensPerSecond * time.median) / milliseconds;

/** Each cell a row, the first line's ratio beside it. */
export function rateTable(caption: string, lines: readonly CellLine[]): TableData {
  const baseline = new Map(lines[0]?.cells.map((cell) => [cell.tokens, cell]));
  return {
    caption,
    head: [
      'what',
      'tokens',
      'tokens a second',
      'ms, median',
      'tenth to ninetieth',
      `times ${lines[0]?.name ?? ''}`,
    ],
    rows: lines.flatMap(({ name, cells }) =>
      cells.map((cell) => {
        const { tokens, tokensPerSecond, time, busy } = cell;
        const from = baseline.get(tokens);
        const ratio = from ? from.time.median / time.median : undefined;
        return [
          name,
          { text: tokens.toLocaleString('en'), value: tokens },
          { text: threeDigits(tokensPerSecond), value: tokensPerSecond },
          { text: threeDigits(time.median), value: time.median },
          `${threeDigits(time.p10)} to ${threeDigits(time.p90)}`,
          ratio === undefined ? '' : `${ratio.toFixed(2)} ×${busy || from!.busy ? ' (busy)' : ''}`,
        ];
      }),
    ),
  };
}
