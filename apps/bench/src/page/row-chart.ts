// Numbers of a few cases beside each other: a row each, a mark for each series, and the spread of each.
import { type Axis, boldLetter, lineHeight, type Mark, px, type Scale, widest } from './chart';
import { scaleOf, ticksOf } from './chart-axes';
import { drawMark } from './chart-marks';
import { attributes, type Html, html } from './html';
import { seriesColors } from './style';

export interface RowMark extends Pick<Mark, 'low' | 'high' | 'isUnsure'> {
  /** From 0, among the names. */
  readonly row: number;
  readonly value: number;
}

export interface RowSeries {
  /** Empty where there is one alone. */
  readonly name: string;
  readonly marks: readonly RowMark[];
}

export interface RowChart {
  /** What a screen reader says in place of the picture. */
  readonly description: string;
  readonly axis: Axis;
  /** Of the rows, from above. */
  readonly names: readonly string[];
  readonly series: readonly RowSeries[];
}

const widths = { wide: 720, narrow: 335 } as const;
/** Numbers stand behind marks that are alone in their rows. */
const numberWidth = 56;

/** The chart twice, for a page of text and for a phone; style shows one of them. */
export function rowChart(chart: RowChart): Html {
  const pictures = (['wide', 'narrow'] as const).map(
    (name) => html`<div class="${name}">${draw(chart, widths[name])}</div>`,
  );
  return html`${pictures}`;
}

function draw({ description, axis, names, series }: RowChart, width: number): Html {
  const marks = series.flatMap((one) => one.marks);
  const isBeside = widest(names) < width / 3; // else a name has a line of its own, above its row
  const apart = 4; // marks of one row, each by its series
  const step = (isBeside ? 18 : 34) + apart * series.length;
  const legend = legendOf(series, width);
  const left = isBeside ? widest(names) + 16 : 8;
  const right = width - (legend.lines > 0 ? 12 : numberWidth);
  const top = 24 + legend.lines * (lineHeight + 4);
  const bottom = top + names.length * step;
  const height = bottom + 44;
  const x = scaleOf(
    axis,
    marks.flatMap(({ value, low = value, high = value }) => [value, low, high]),
  ).range([left, right]) as Scale;
  const middle = (row: number) => top + (row + 0.5) * step + (isBeside ? 0 : 9);
  const nameAt = (row: number) =>
    isBeside
      ? { x: left - 12, y: middle(row), 'text-anchor': 'end' }
      : { x: 0, y: top + row * step + 9, 'text-anchor': 'start' };
  const ticks = ticksOf(x, axis, Math.max(2, Math.floor((right - left) / 64)));
  return html`<svg class="chart" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${description}">
${legend.drawn}${ticks.map(
  (
    tick,
  ) => html`<line class="grid"${attributes({ x1: px(x(tick)), x2: px(x(tick)), y1: top, y2: bottom + 4 })}/>
<text${attributes({ x: px(x(tick)), y: bottom + 17, 'text-anchor': 'middle' })}>${axis.write(tick)}</text>
`,
)}<line class="axis"${attributes({ x1: left, x2: right, y1: bottom, y2: bottom })}/>
<text class="title"${attributes({ x: right, y: height - 6, 'text-anchor': 'end' })}>${axis.name}</text>
${names.map(
  (
    name,
    row,
  ) => html`<text class="title"${attributes({ ...nameAt(row), 'dominant-baseline': 'central' })}>${name}</text>
`,
)}${series.map(({ name, marks: own }, look) =>
  own.map(({ row, value, low = value, high = value, isUnsure }) => {
    const y = middle(row) + apart * (look - (series.length - 1) / 2);
    const hint = `${[names[row]!, name].filter((part) => part !== '').join(', ')}: ${axis.write(value)} ${axis.name}`;
    const end = [px(x(high)) + 8, y] as const;
    return html`${drawMark({
      ...{ look, low, high, hint, at: [x(value), y], from: [x(low), y], to: [x(high), y] },
      ...{ data: { 'data-row': names[row]!, 'data-series': name, 'data-x': value }, isUnsure },
    })}${legend.lines > 0 ? undefined : html`<text${attributes({ x: end[0], y, 'dominant-baseline': 'central' })}>${axis.write(value)}</text>`}`;
  }),
)}</svg>`;
}

/** Marks of series with their names, in as many lines as they need; none for one series. */
function legendOf(
  series: readonly RowSeries[],
  width: number,
): { readonly lines: number; readonly drawn: Html } {
  if (series.length < 2) return { lines: 0, drawn: html`` };
  let [across, line] = [0, 0];
  const drawn = series.map(({ name }, look) => {
    const wide = 34 + boldLetter * [...name].length;
    if (across > 0 && across + wide > width) [across, line] = [0, line + 1];
    const [x, y] = [across + 8, 12 + line * (lineHeight + 4)];
    across += wide;
    const place = { x: x + 12, y, 'dominant-baseline': 'central' };
    return html`${drawMark({ look, at: [x, y] })}<text class="name s${look % seriesColors}"${attributes(place)}>${name}</text>
`;
  });
  return { lines: line + 1, drawn: html`${drawn}` };
}
