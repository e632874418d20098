// Attention maps as one SVG picture: queries down, keys across, heads side by side, one color scale for all.
import { ConfigError } from '@polyhead/core';
import { checkFlag, checkSizes, normalizeOptions } from '@polyhead/core/layer';
import {
  checkTokens,
  fitsCell,
  type HeadWeights,
  headsShape,
  largestOf,
  type MapTokens,
} from './head-weights';
import { type Beside, checkBeside, type RowValues } from './row-values';
import { element, escapeXml, label } from './svg';
import { colorBar, fixed, grid, moved, valueCell } from './svg-grid';
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
  /** What maps are called, one for each. Default: head 1, head 2 and so on. */
  readonly names?: readonly string[];
  /** What queries, keys and weights are called, where maps show other numbers, such as one of each head by layer. */
  readonly axes?: { readonly queries: string; readonly keys: string; readonly weight: string };
}

const ownAxes = { queries: 'queries', keys: 'keys', weight: 'weight' };

interface Layout {
  readonly rows: number; // Sq
  readonly keys: number; // Skv
  readonly cell: number; // pixels
  readonly largest: number;
  readonly queryLabels: readonly string[];
  readonly keyLabels: readonly string[];
  readonly beside: readonly BesideColumn[];
  readonly names: readonly string[] | undefined;
  readonly axes: typeof ownAxes;
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
  const known = ['queries', 'keys', 'title', 'columns', 'values', 'beside', 'names', 'axes'] as const;
  const checked = normalizeOptions(where, 'options', options, known) as SvgMapOptions;
  const { title = 'Attention weights', columns = 4, beside = {} } = checked;
  const shape = headsShape(where, heads);
  checkCells(where, shape);
  checkTokens(where, checked, shape);
  checkSizes(where, { columns });
  if (checked.values !== undefined) checkFlag(where, 'values', checked.values);
  checkBeside(where, beside, shape);
  checkNames(where, checked, heads.length);
  if (typeof title !== 'string') throw new ConfigError(where, 'title must be a string', { title });
  const layout = layoutOf(heads, checked);
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
  const { largest, rows, cell, axes } = layout;
  const bar = moved(
    margin + mapsWidth,
    margin + titleHeight + layout.top,
    colorBar(largest, rows * cell, axes.weight),
  );
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

/** @throws ConfigError unless there is a name for each map, and for each axis */
function checkNames(where: string, { names, axes }: SvgMapOptions, maps: number): void {
  const isText = (list: unknown): list is string[] =>
    Array.isArray(list) && list.every((text) => typeof text === 'string');
  if (names !== undefined && !(isText(names) && names.length === maps))
    throw new ConfigError(where, 'names must hold a string for each map', { names, maps });
  if (axes !== undefined && !isText(Object.keys(ownAxes).map((axis) => axes?.[axis as keyof typeof ownAxes])))
    throw new ConfigError(where, 'axes must name queries, keys and weight', { axes });
}

function layoutOf(
  heads: HeadWeights,
  { queries, keys = queries, beside = {}, values, names, axes = ownAxes }: SvgMapOptions,
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
    names,
    axes,
    left,
    top: headTitle,
    panelWidth: left + Math.max(mapWidth, widest(names ?? ['head 99 '])) + margin,
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
  const { cell, keys, left, top, queryLabels, keyLabels, largest, beside, names, axes } = layout;
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
    label(names?.[h] ?? `head ${h + 1}`, { x: left, y: top - 8, 'font-weight': 'bold' }),
    label(axes.queries, { ...turned(fontSize, (top + bottom) / 2), ...middle }),
    label(axes.keys, { x: left + (keys * cell) / 2, y: layout.panelHeight - margin - 4, ...middle }),
    ...queryLabels.map((text, i) => label(text, at(i))),
    ...keyLabels.map((text, j) => label(text, below(j * cell))),
    moved(left, top, grid({ rows: heads[h]!, largest, nameOf: ofPair }, cell)),
    ...columns,
  ].join('\n');
}

const toTheEnd = { 'text-anchor': 'end', 'dominant-baseline': 'central' };
