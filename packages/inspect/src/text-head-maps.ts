// Attention maps as text: queries down, keys across, one map a head, as many beside each other as the width holds.
import { checkSizes, given } from '@polyhead/core';
import { checkTokens, type HeadWeights, headsShape, largestOf, type MapTokens } from './head-weights';
import { narrowLetters } from './token-label';

export interface TextMapOptions extends MapTokens {
  /** Columns of the terminal or page. */
  readonly width: number;
  /** 256-colour backgrounds; without it block characters. Default: false. */
  readonly color?: boolean;
}

export interface TextMaps {
  readonly lines: readonly string[];
  /** Tokens drawn on each axis: the first ones, where the width does not hold all, and at most 40. */
  readonly drawn: { readonly queries: number; readonly keys: number };
}

interface Layout {
  readonly perRow: number;
  readonly cell: number; // columns a weight: 4 shows its value, 2 and 1 only its shade
  readonly keys: number;
  readonly labelWidth: number;
}

/** A weight's level counts the steps it reaches; steps are shares of the largest weight shown. */
const steps = [0.05, 0.2, 0.4, 0.7];
const blocks = [' ', '░', '▒', '▓', '█'];
const backgrounds = [233, 53, 90, 168, 216]; // dark violet to light orange: brightness grows, also in grey
const foregrounds = [248, 255, 255, 16, 16];
const maxLabel = 10;
const maxDrawn = 40;
const gap = 2;

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
  const asked = given(where, 'options', options, ['queries', 'keys', 'width', 'color']) as TextMapOptions;
  const { queries, keys = queries, width, color = false } = asked;
  checkTokens(where, asked, headsShape(where, heads));
  checkSizes(where, { width });
  const [queryLabels, keyLabels] = [queries, keys].map((tokens) => tokens.map(labelOf));
  const layout = chooseLayout(queryLabels!, keys.length, { heads: heads.length, width });
  // Self-attention has the same tokens on both axes, also where not all are drawn.
  const drawn = {
    queries: asked.keys ? Math.min(queries.length, maxDrawn) : layout.keys,
    keys: layout.keys,
  };
  const visible = heads.map((rows) => rows.slice(0, drawn.queries).map((row) => row.slice(0, drawn.keys)));
  const largest = largestOf(visible);
  const lines: string[] = [];
  for (let first = 0; first < heads.length; first += layout.perRow) {
    const maps = visible.slice(first, first + layout.perRow);
    const mapWidth = layout.keys * layout.cell;
    const titles = maps.map((_, i) => `head ${first + i + 1}`.slice(0, mapWidth).padEnd(mapWidth));
    lines.push(joinMaps('', titles, layout), ...keyLines(keyLabels!, maps.length, layout));
    for (const [i, label] of queryLabels!.slice(0, drawn.queries).entries()) {
      const cells = maps.map((map) =>
        map[i]!.map((weight) => drawCell(weight, largest, layout.cell, color)).join(''),
      );
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
  { heads, width }: { readonly heads: number; readonly width: number },
): Layout {
  const labelWidth = queryLabels.reduce((most, label) => Math.max(most, [...label].length), 0);
  const keys = Math.min(tokens, maxDrawn);
  const candidates = [4, 2, 1].flatMap((perRow) =>
    [4, 2].map((cell) => ({ perRow: Math.min(perRow, heads), cell })),
  );
  const fits = ({ perRow, cell }: { perRow: number; cell: number }) =>
    labelWidth + 1 + perRow * keys * cell + (perRow - 1) * gap <= width;
  const found = candidates.find(fits);
  if (found) return { ...found, keys, labelWidth };
  return { perRow: 1, cell: 1, keys: Math.max(1, Math.min(keys, width - labelWidth - 1)), labelWidth };
}

function joinMaps(label: string, maps: readonly string[], { labelWidth }: Layout): string {
  return `${label.padStart(labelWidth)} ${maps.join(' '.repeat(gap))}`.trimEnd();
}

/** The keys' labels written downwards, each over its column. */
function keyLines(labels: readonly string[], maps: number, layout: Layout): string[] {
  const letters = labels.slice(0, layout.keys).map((label) => [...label]);
  const height = Math.max(...letters.map((label) => label.length));
  return Array.from({ length: height }, (_, line) => {
    const columns = letters.map((label) =>
      (label[line - height + label.length] ?? ' ').padStart((layout.cell >> 1) + 1),
    );
    const map = columns.map((column) => column.padEnd(layout.cell)).join('');
    return joinMaps('', new Array(maps).fill(map), layout);
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

function legend(largest: number, color: boolean): string {
  const bounds = steps.map((step) => (step * largest).toFixed(2).replace(/^0/, ''));
  const swatches = steps.map((step, i) => `${drawCell(step * largest, largest, 1, color)} ${bounds[i]}`);
  return `weight from ${swatches.join('  ')}`;
}
