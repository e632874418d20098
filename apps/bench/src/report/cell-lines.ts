// Cells of the matrix as lines over length, or as rows where there is one length. One case is the base of lines; each differs
// from it in one choice at most.
import { none } from '../axes/registries';
import type { CellAxes, MatrixResult, MeasuredCell } from '../matrix/result';
import { ratioTo } from '../matrix/speed-up';
import type { Mark, Series } from '../page/chart';
import type { RowMark, RowSeries } from '../page/row-chart';
import type { TableData } from '../page/table';
import { count, threeDigits } from '../print/format-number';

export interface CellLine {
  readonly name: string;
  /** By length. */
  readonly cells: readonly MeasuredCell[];
}

const choices = ['variant', 'position', 'kernel', 'cache', 'backend'] as const;
const axes = ['layer', ...choices, 'tokens', 'batch'] as const;
type Choice = (typeof choices)[number];
type Axis = (typeof axes)[number];

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

/** Cells that took turns, of one picture each. */
export interface Pictures {
  /** Of several lengths. */
  readonly lines: readonly (readonly MeasuredCell[])[];
  /** Of one. */
  readonly rows: readonly (readonly MeasuredCell[])[];
}

/** Of one phase: all cells beside which another stands, unless a larger picture has the like. */
export function picturesOf(cells: readonly MeasuredCell[]): Pictures {
  const groups = new Map<string, MeasuredCell[]>();
  for (const cell of cells) {
    const key = turnsOf(cell) ?? `${cell.layer}, batch ${cell.batch}`;
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  const all = [...groups.values()];
  const long = all.filter((group) => lengthsIn(group).size > 1);
  const several = long.filter((group) => group.length > lengthsIn(group).size);
  // One line alone is in another picture, too, unless it goes on behind the end of all.
  const goesOn = (group: readonly MeasuredCell[]) =>
    several.every((other) => other[0]!.layer !== group[0]!.layer || longestIn(group) > longestIn(other));
  const lines = long.filter((group) => several.includes(group) || goesOn(group));
  const inLines = placesIn(
    lines.flatMap((group) => linesOf(group, baseOf(group)).flatMap((line) => line.cells)),
    ['layer', 'batch', ...choices],
  );
  const short = all.filter((group) => lengthsIn(group).size === 1 && group.length > 1);
  const isIn = (group: readonly MeasuredCell[], places: ReadonlySet<string>, of: readonly Axis[]) =>
    [...placesIn(group, of)].every((place) => places.has(place));
  const rows = short.filter(
    (group) =>
      !isIn(group, inLines, ['layer', 'batch', ...choices]) &&
      !short.some((other) => other.length > group.length && isIn(group, placesIn(other, axes), axes)),
  );
  return { lines, rows };
}

const longestIn = (cells: readonly MeasuredCell[]) => Math.max(...cells.map(({ tokens }) => tokens));

const placesIn = (cells: readonly MeasuredCell[], of: readonly Axis[]) =>
  new Set(cells.map((cell) => of.map((axis) => cell[axis]).join('\n')));

export const lengthsIn = (cells: readonly MeasuredCell[]) => new Set(cells.map(({ tokens }) => tokens));

/** The base first: by the one choice in which lines differ, or by its variant. */
export function linesOf(cells: readonly MeasuredCell[], base: Base): CellLine[] {
  const lines = new Map<string, MeasuredCell[]>();
  const othersOf = (cell: MeasuredCell) => choices.filter((choice) => cell[choice] !== base[choice]);
  const shown = cells.filter((cell) => othersOf(cell).length <= 1);
  const varied = choices.filter((choice) => shown.some((cell) => cell[choice] !== base[choice]));
  const ofBase = varied.length === 1 ? varied[0]! : 'variant';
  const ordered = [...shown].sort((a, b) => othersOf(a).length - othersOf(b).length);
  for (const cell of ordered) {
    const name = valueOn(othersOf(cell)[0] ?? ofBase, cell);
    lines.set(name, [...(lines.get(name) ?? []), cell]);
  }
  return [...lines].map(([name, own]) => ({ name, cells: own.sort((a, b) => a.tokens - b.tokens) }));
}

/** A cell's value on an axis, as a picture names it. */
function valueOn(axis: Axis, cell: MeasuredCell): string {
  const value = cell[axis];
  if (axis === 'kernel') return value === 'best' ? `best: ${cell.ran}` : `${value}`;
  if (axis === 'tokens') return `${count(cell.tokens)} tokens`;
  if (axis === 'batch') return `${value} ${value === 1 ? 'sequence' : 'sequences'}`;
  if (axis === 'cache') return value === none ? 'no cache' : `${value} cache`;
  return axis === 'position' && value === none ? 'no positions' : `${value}`;
}

/** What cells have in common on these axes, in words. */
function commonOf(cells: readonly MeasuredCell[], of: readonly Axis[]): string {
  const [first] = cells as [MeasuredCell];
  const common = of.filter(
    (axis) => cells.every((cell) => cell[axis] === first[axis]) && first[axis] !== none,
  );
  const words = common.map((axis) => {
    if (axis !== 'kernel') return valueOn(axis, first);
    return cells.every(({ ran }) => ran === first.ran)
      ? `kernel ${valueOn(axis, first)}`
      : 'the best kernel of each';
  });
  return words.join(', ');
}

/** The same of the first of several lines, whatever the length. */
export const baseLine = ([first]: readonly CellLine[]): string => commonOf(first!.cells, choices);

/** The same of rows; layer and backend stand in titles. */
export const rowsLine = (cells: readonly MeasuredCell[]): string =>
  commonOf(cells, ['variant', 'position', 'kernel', 'cache', 'tokens', 'batch']);

/** Rows by name; where cells differ on two axes, that of fewer values is told by colors. */
export interface CellRows {
  readonly names: readonly string[];
  readonly series: readonly RowSeries[];
  /** All of them, each a line of one cell. */
  readonly lines: readonly CellLine[];
}

export function rowsOf(cells: readonly MeasuredCell[]): CellRows {
  const valuesOf = (axis: Axis) => new Set(cells.map((cell) => cell[axis])).size;
  const varied = axes.filter((axis) => valuesOf(axis) > 1);
  const byColor =
    varied.length > 1
      ? varied.reduce((least, axis) => (valuesOf(axis) < valuesOf(least) ? axis : least))
      : undefined;
  const named = varied.filter((axis) => axis !== byColor);
  const rowOf = (cell: MeasuredCell) =>
    (named.length > 0 ? named : (['variant'] as const)).map((axis) => valueOn(axis, cell)).join(', ');
  const seriesOf = (cell: MeasuredCell) => (byColor === undefined ? '' : valueOn(byColor, cell));
  const names = [...new Set(cells.map(rowOf))];
  const series = [...new Set(cells.map(seriesOf))].map((name) => ({
    name,
    marks: cells
      .filter((cell) => seriesOf(cell) === name)
      .map((cell): RowMark => ({ row: names.indexOf(rowOf(cell)), ...rateOf(cell) })),
  }));
  const lines = cells.map((cell) => ({
    name: [rowOf(cell), seriesOf(cell)].filter((name) => name !== '').join(', '),
    cells: [cell],
  }));
  return { names, series, lines };
}

/** Rates with their spread. */
export function rateSeries(lines: readonly CellLine[], { cells: all }: MatrixResult): Series[] {
  const variants = [...new Set(all.map(({ variant }) => variant))]; // of one color in all pictures
  const others = lines.filter(({ name }) => !variants.includes(name)).map(({ name }) => name);
  return lines.map(({ name, cells }) => ({
    name,
    look: variants.includes(name) ? variants.indexOf(name) : variants.length + others.indexOf(name),
    marks: cells.map((cell): Mark => {
      const { value, ...rest } = rateOf(cell);
      return { x: cell.tokens, y: value, ...rest };
    }),
  }));
}

/** Of times the slower tenth is the lower rate. */
function rateOf(cell: MeasuredCell): Omit<RowMark, 'row'> {
  const { tokensPerSecond: value, time, busy } = cell;
  const at = (milliseconds: number) => (value * time.median) / milliseconds;
  return { value, low: at(time.p90), high: at(time.p10), ...(busy && { isUnsure: true as const }) };
}

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
        const { tokens, tokensPerSecond, time } = cell;
        const from = baseline.get(tokens);
        return [
          name,
          { text: count(tokens), value: tokens },
          { text: threeDigits(tokensPerSecond), value: tokensPerSecond },
          { text: threeDigits(time.median), value: time.median },
          `${threeDigits(time.p10)} to ${threeDigits(time.p90)}`,
          from ? ratioTo(from, cell) : '',
        ];
      }),
    ),
  };
}
