// Attention maps as text: queries down, keys across, one map a head, as many beside each other as the width holds.
import { checkFlag, checkSizes, normalizeOptions } from '@polyhead/core/layer';
import {
  checkTokens,
  decimalsOf,
  fitsCell,
  type HeadWeights,
  headsShape,
  largestOf,
  type MapTokens,
} from './head-weights';
import { type Beside, checkBeside } from './row-values';
import { narrowLetters } from './token-label';

/** What is drawn beside the weights, and how wide. */
export interface TextMapOptions extends MapTokens {
  /** Columns of the terminal or page. */
  readonly width: number;
  /** 256-color backgrounds; without it block characters. Default: false. */
  readonly color?: boolean;
  /** A column of numbers beside each map for each name: [H, Sq]. */
  readonly beside?: Beside;
}

/** Maps as lines of text. */
export interface TextMaps {
  /** To be printed one below the other. */
  readonly lines: readonly string[];
  /** Tokens drawn on each axis: the first ones, where the width does not hold all, and at most 40. */
  readonly drawn: { readonly queries: number; readonly keys: number };
}

interface Layout {
  readonly perRow: number;
  readonly cell: number; // columns a weight: 4 shows its value, 2 and 1 only its shade
  readonly keys: number;
  readonly labelWidth: number;
  readonly beside: readonly string[];
}

/** A weight's level counts the steps it reaches; steps are shares of the largest weight shown. */
const steps = [0.05, 0.2, 0.4, 0.7];
const blocks = [' ', '░', '▒', '▓', '█'];
const backgrounds = [233, 53, 90, 168, 216]; // dark violet to light orange: brightness grows, also in grey
const foregrounds = [248, 255, 255, 16, 16];
const maxLabel = 10;
const maxDrawn = 40;
const gap = 2;
const besideWidth = 5; // a space and four columns

/**
 * Maps of all heads, with the weights to two decimals where they fit the width. Letters that are not one column wide
 * stand as `?`.
 *
 * @param heads [H, Sq, Skv], weights from 0 to 1
 * @throws ShapeError, ConfigError where sizes, tokens or width do not fit
 * @example
 * const { lines } = textHeadMaps(await readHeads(weights), { queries: tokens, width: 132 });
 */
export function textHeadMaps(heads: HeadWeights, options: TextMapOptions): TextMaps {
  const where = 'textHeadMaps';
  const known = ['queries', 'keys', 'width', 'color', 'beside'] as const;
  const checked = normalizeOptions(where, 'options', options, known) as TextMapOptions;
  const { queries, keys = queries, width, color = false, beside = {} } = checked;
  const shape = headsShape(where, heads);
  checkTokens(where, checked, shape);
  checkFlag(where, 'color', color);
  checkSizes(where, { width });
  checkBeside(where, beside, shape);
  const [queryLabels, keyLabels] = [queries, keys].map((tokens) => tokens.map(labelOf));
  const layout = chooseLayout(queryLabels!, keys.length, { heads, width, beside });
  // Self-attention has the same tokens on both axes, also where not all are drawn.
  const drawn = {
    queries: checked.keys ? Math.min(queries.length, maxDrawn) : layout.keys,
    keys: layout.keys,
  };
  const visible = heads.map((rows) => rows.slice(0, drawn.queries).map((row) => row.slice(0, drawn.keys)));
  const largest = largestOf(visible);
  const lines: string[] = [];
  for (let first = 0; first < heads.length; first += layout.perRow) {
    const maps = visible.slice(first, first + layout.perRow);
    const mapWidth = layout.keys * layout.cell + besideWidth * layout.beside.length;
    const titles = maps.map((_, i) => `head ${first + i + 1}`.slice(0, mapWidth).padEnd(mapWidth));
    lines.push(joinMaps('', titles, layout), ...keyLines(keyLabels!, maps.length, layout));
    for (const [i, label] of queryLabels!.slice(0, drawn.queries).entries()) {
      const cells = maps.map((map, n) => {
        const drawnCells = map[i]!.map((weight) => drawCell(weight, largest, layout.cell, color));
        return [...drawnCells, ...layout.beside.map((name) => inFive(beside[name]![first + n]![i]!))].join(
          '',
        );
      });
      lines.push(joinMaps(label, cells, layout));
    }
    lines.push('');
  }
  return { lines: [...lines, legend(largest, color)], drawn };
}

const labelOf = (token: string) => narrowLetters(token).slice(0, maxLabel).join('');

/** Four beside each other where cells can be 2 wide, else two, else one; the widest cells that fit. */
function chooseLayout(
  queryLabels: readonly string[],
  tokens: number,
  {
    heads,
    width,
    beside,
  }: Required<Pick<TextMapOptions, 'width' | 'beside'>> & { readonly heads: HeadWeights },
): Layout {
  const labelWidth = queryLabels.reduce((most, label) => Math.max(most, [...label].length), 0);
  const keys = Math.min(tokens, maxDrawn);
  const names = Object.keys(beside);
  const widths = fitsCell(largestOf(heads)) ? [4, 2] : [2];
  const candidates = [4, 2, 1].flatMap((perRow) =>
    widths.map((cell) => ({ perRow: Math.min(perRow, heads.length), cell })),
  );
  const left = width - labelWidth - 1;
  const ofNames = names.length * besideWidth;
  const fits = ({ perRow, cell }: { perRow: number; cell: number }) =>
    perRow * (keys * cell + ofNames) + (perRow - 1) * gap <= left;
  const fitting = candidates.find(fits) ?? { perRow: 1, cell: 1 };
  const drawn = fitting.cell === 1 ? Math.max(1, Math.min(keys, left - ofNames)) : keys;
  return { ...fitting, keys: drawn, labelWidth, beside: names };
}

function joinMaps(label: string, maps: readonly string[], { labelWidth }: Layout): string {
  return `${label.padStart(labelWidth)} ${maps.join(' '.repeat(gap))}`.trimEnd();
}

/** The keys' labels, and what stands beside the map, written downwards, each over its column. */
function keyLines(labels: readonly string[], maps: number, layout: Layout): string[] {
  const { keys, cell, beside } = layout;
  const columns = [
    ...labels.slice(0, keys).map((label) => ({ label, width: cell })),
    ...beside.map((name) => ({ label: labelOf(name), width: besideWidth })),
  ].map(({ label, width }) => ({ letters: [...label], width }));
  const height = Math.max(...columns.map(({ letters }) => letters.length));
  return Array.from({ length: height }, (_, line) => {
    const map = columns.map(({ letters, width }) =>
      (letters[line - height + letters.length] ?? ' ').padStart((width >> 1) + 1).padEnd(width),
    );
    return joinMaps('', new Array(maps).fill(map.join('')), layout);
  });
}

function drawCell(weight: number, largest: number, cell: number, color: boolean): string {
  const level = weight > 0 ? steps.filter((step) => weight >= step * largest).length : 0;
  const block = color ? ' ' : blocks[level]!;
  const text = cell === 4 ? block + twoDecimals(weight) : block.repeat(cell);
  return color ? `\x1b[48;5;${backgrounds[level]}m\x1b[38;5;${foregrounds[level]}m${text}\x1b[0m` : text;
}

/** In three columns: `.07`, `1.0`; what is no weight as `NaN`, `Inf`, `>9` or `<0`. */
function twoDecimals(weight: number): string {
  if (Number.isNaN(weight)) return 'NaN';
  if (weight === Infinity) return 'Inf';
  if (weight < 0) return ' <0';
  if (weight >= 9.95) return ' >9';
  return weight >= 0.995 ? weight.toFixed(1) : weight.toFixed(2).slice(1);
}

/** A space, and a number in four columns: `3.91`, `12.5`; `####` where it is too long. */
function inFive(value: number): string {
  const texts = [2, 1, 0].map((digits) => value.toFixed(digits));
  return (texts.find((text) => text.length <= 4) ?? '####').padStart(besideWidth);
}

function legend(largest: number, color: boolean): string {
  const bounds = steps.map((step) => (step * largest).toFixed(decimalsOf(largest)).replace(/^0/, ''));
  const swatches = steps.map((step, i) => `${drawCell(step * largest, largest, 1, color)} ${bounds[i]}`);
  return `weight from ${swatches.join('  ')}`;
}
