// Attention maps as one SVG picture: queries down, keys across, heads side by side, one color scale for all.
import { ConfigError } from '@polyhead/core';
import { checkFlag, checkSizes, normalizeOptions } from '@polyhead/core/layer';
import { colorOf } from './color-scale';
import {
  checkTokens,
  decimalsOf,
  fitsCell,
  type HeadWeights,
  headsShape,
  largestOf,
  type MapTokens,
} from './head-weights';
import { type Beside, checkBeside, type RowValues } from './row-values';
import { element, escapeXml, label } from './svg';
import { columnsOf, printable } from './token-label';

export interface SvgMapOptions extends MapTokens {
  /** Default: "Attention weights". */
  readonly title?: string;
  /** Heads beside each other. Default: 4. */
  readonly columns?: number;
  /** Whether weights are written in their cells, which are larger then. Default: up to 32 tokens that have a weight of 0.05. */
  readonly values?: boolean;
  /** A column of numbers beside each map for each name, on a color scale of its own: [H, Sq]. */
  readonly beside?: Beside;
}

interface Layout {
  readonly rows: number; // Sq
  readonly keys: number; // Skv
  readonly cell: number; // pixels
  readonly largest: number;
  readonly queryLabels: readonly string[];
  readonly keyLabels: readonly string[];
  readonly beside: readonly BesideColumn[];
  /** From a panel's corner to that of its map. */
  readonly left: number;
  readonly top: number;
  readonly panelWidth: number;
  readonly panelHeight: number;
}

interface BesideColumn {
  readonly values: RowValues;
  readonly name: string;
  readonly largest: number;
  readonly left: number; // from that of the map
}

const valueCell = 36; // holds two decimals
const plainCell = 14;
const maxValues = 32; // tokens on an axis with values in their cells
const maxCells = 256 * 256; // of a head: pictures of more are too large to open
const besideGap = 6;
const maxLabel = 16;
const fontSize = 12;
const titleSize = 16;
const columnWidth = 0.61 * fontSize; // of common monospaced fonts
const axisName = 20;
const headTitle = 24;
const margin = 16;
const titleHeight = 32;
const barWidth = 14;
const barArea = 80;
const font = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';

/**
 * Maps of all heads as an SVG document that stands alone. Weights are written in cells up to 32 tokens, and beyond that
 * shown where the pointer rests; each cell has its weight as `data-weight`, to six digits.
 *
 * @param heads [H, Sq, Skv], weights from 0 to 1
 * @throws ShapeError, ConfigError where sizes, tokens or columns do not fit, or a head has more than 256 · 256 cells
 * @example
 * writeFileSync('heads.svg', svgHeadMaps(await readHeads(weights), { queries: tokens, title: 'Layer 2' }));
 */
export function svgHeadMaps(heads: HeadWeights, options: SvgMapOptions): string {
  const where = 'svgHeadMaps';
  const known = ['queries', 'keys', 'title', 'columns', 'values', 'beside'] as const;
  const asked = normalizeOptions(where, 'options', options, known) as SvgMapOptions;
  const { title = 'Attention weights', columns = 4, beside = {} } = asked;
  const shape = headsShape(where, heads);
  checkCells(where, shape);
  checkTokens(where, asked, shape);
  checkSizes(where, { columns });
  if (asked.values !== undefined) checkFlag(where, 'values', asked.values);
  checkBeside(where, beside, shape);
  if (typeof title !== 'string') throw new ConfigError(where, 'title must be a string', { title });
  const layout = layoutOf(heads, asked);
  const perRow = Math.min(columns, heads.length);
  const mapsWidth = perRow * layout.panelWidth;
  const width =
    2 * margin + Math.max(mapsWidth + barArea, (titleSize / fontSize) * widest([printable(title)]));
  const height = 2 * margin + titleHeight + Math.ceil(heads.length / perRow) * layout.panelHeight;
  const panels = heads.map((_, h) => {
    const x = margin + (h % perRow) * layout.panelWidth;
    const y = margin + titleHeight + Math.floor(h / perRow) * layout.panelHeight;
    return moved(x, y, panel(heads, h, layout));
  });
  const heading = label(title, {
    x: margin,
    y: margin + fontSize,
    'font-size': titleSize,
    'font-weight': 'bold',
  });
  const bar = moved(margin + mapsWidth, margin + titleHeight + layout.top, colorBar(layout));
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
    width: Math.ceil(width),
    height: Math.ceil(height),
    role: 'img',
    'font-family': font,
    'font-size': fontSize,
  };
  const background = element('rect', { width: '100%', height: '100%', fill: '#ffffff' });
  const parts = [element('title', {}, escapeXml(title)), background, heading, ...panels, bar];
  return `${element('svg', attributes, `\n${parts.join('\n')}\n`)}\n`;
}

function checkCells(where: string, [, Sq, Skv]: readonly [number, number, number]): void {
  if (Sq * Skv <= maxCells) return;
  throw new ConfigError(where, `a head may have at most ${maxCells} cells, 256 · 256: draw a part of it`, {
    '[Sq, Skv]': [Sq, Skv],
  });
}

function layoutOf(
  heads: HeadWeights,
  { queries, keys = queries, beside = {}, values }: SvgMapOptions,
): Layout {
  const largest = largestOf(heads);
  const showsValues = values ?? (Math.max(queries.length, keys.length) <= maxValues && fitsCell(largest));
  const cell = showsValues ? valueCell : plainCell;
  const [queryLabels, keyLabels] = [queries, keys].map((tokens) => tokens.map(shorten));
  const left = axisName + widest(queryLabels!) + 6;
  const columns = Object.entries(beside).map(([name, values], n) => ({
    values,
    name: `${shorten(name)} ≤ ${largestOf([values]).toFixed(2)}`,
    largest: largestOf([values]),
    left: keys.length * cell + besideGap + n * (cell + besideGap),
  }));
  const mapWidth = keys.length * cell + columns.length * (cell + besideGap);
  const labels = [...keyLabels!, ...columns.map(({ name }) => name)];
  return {
    rows: queries.length,
    keys: keys.length,
    cell,
    largest,
    queryLabels: queryLabels!,
    keyLabels: keyLabels!,
    beside: columns,
    left,
    top: headTitle,
    panelWidth: left + Math.max(mapWidth, 8 * columnWidth) + margin,
    panelHeight: headTitle + queries.length * cell + 6 + widest(labels) + axisName + margin,
  };
}

function shorten(token: string): string {
  const letters = [...printable(token)];
  return letters.length <= maxLabel ? letters.join('') : `${letters.slice(0, maxLabel - 1).join('')}…`;
}

/** Pixels of the widest label. */
function widest(labels: readonly string[]): number {
  const columns = (text: string) => [...text].reduce((sum, letter) => sum + columnsOf(letter), 0);
  return columnWidth * labels.reduce((most, text) => Math.max(most, columns(text)), 1);
}

/** One head: its title, the names and tokens of both axes, the cells, and what stands beside them. */
function panel(heads: HeadWeights, h: number, layout: Layout): string {
  const { cell, keys, left, top, queryLabels, keyLabels, largest, beside } = layout;
  const bottom = top + layout.rows * cell;
  const middle = { 'text-anchor': 'middle', 'font-style': 'italic' };
  const turned = (x: number, y: number) => ({ transform: `translate(${fixed(x)} ${fixed(y)}) rotate(-90)` });
  const at = (i: number) => ({ x: left - 6, y: top + (i + 0.5) * cell, ...toTheEnd });
  const below = (x: number) => ({ ...turned(left + x + 0.5 * cell, bottom + 6), ...toTheEnd });
  const ofPair = (i: number, j: number) => `${queryLabels[i]} → ${keyLabels[j]}`;
  const columns = beside.flatMap((column) => {
    const rows = column.values[h]!.map((value) => [value]);
    const nameOf = (i: number) => `${queryLabels[i]}, ${column.name}`;
    const drawn = grid({ rows, largest: column.largest, nameOf }, cell);
    return [label(column.name, below(column.left)), moved(left + column.left, top, drawn)];
  });
  return [
    label(`head ${h + 1}`, { x: left, y: top - 8, 'font-weight': 'bold' }),
    label('queries', { ...turned(fontSize, (top + bottom) / 2), ...middle }),
    label('keys', { x: left + (keys * cell) / 2, y: layout.panelHeight - margin - 4, ...middle }),
    ...queryLabels.map((text, i) => label(text, at(i))),
    ...keyLabels.map((text, j) => label(text, below(j * cell))),
    moved(left, top, grid({ rows: heads[h]!, largest, nameOf: ofPair }, cell)),
    ...columns,
  ].join('\n');
}

const toTheEnd = { 'text-anchor': 'end', 'dominant-baseline': 'central' };

interface Grid {
  readonly rows: readonly (readonly number[])[];
  readonly largest: number;
  /** What a cell is, shown where the pointer rests. */
  nameOf(i: number, j: number): string;
}

function grid({ rows, largest, nameOf }: Grid, cell: number): string {
  const drawn = rows.flatMap((row, i) =>
    row.map((value, j) => {
      const { fill, text } = colorOf(largest > 0 ? value / largest : value);
      const place = { x: j * cell, y: i * cell, width: cell, height: cell };
      const square = { ...place, 'data-weight': `${Number(value.toPrecision(6))}`, fill };
      if (cell !== valueCell) {
        const hint = `${nameOf(i, j)}: ${value.toFixed(decimalsOf(largest))}`;
        return element('rect', square, element('title', {}, escapeXml(hint)));
      }
      const centre = { x: (j + 0.5) * cell, y: (i + 0.5) * cell, fill: text };
      return element('rect', square) + label(value.toFixed(2), centre);
    }),
  );
  const size = { width: rows[0]!.length * cell, height: rows.length * cell };
  const frame = { ...size, fill: 'none', stroke: '#888888' };
  const centered = { 'font-size': 11, 'text-anchor': 'middle', 'dominant-baseline': 'central' };
  return element('g', centered, drawn.join('')) + element('rect', frame);
}

/** The scale, largest weight on top. */
function colorBar({ rows, cell, largest }: Layout): string {
  const [height, steps] = [Math.max(80, Math.min(rows * cell, 240)), 40];
  const step = height / steps;
  const slices = Array.from({ length: steps }, (_, n) => {
    const { fill } = colorOf(1 - n / (steps - 1));
    return element('rect', { y: n * step, width: barWidth, height: step + 0.5, fill });
  });
  const ticks = [1, 0.5, 0].map((share) =>
    label((share * largest).toFixed(decimalsOf(largest)), {
      x: barWidth + 6,
      y: (1 - share) * height,
      'dominant-baseline': 'central',
    }),
  );
  const frame = element('rect', { width: barWidth, height, fill: 'none', stroke: '#888888' });
  const name = label('weight', { y: -10, 'font-style': 'italic' });
  return [...slices, frame, ...ticks, name].join('');
}

function moved(x: number, y: number, content: string): string {
  return element('g', { transform: `translate(${fixed(x)} ${fixed(y)})` }, content);
}

const fixed = (pixels: number) => Number(pixels.toFixed(2));
