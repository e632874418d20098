// Lines and marks, by D3's shapes, and the names beside them.
import { line, symbol, symbolCircle, symbolDiamond, symbolSquare, symbolTriangle } from 'd3-shape';
import { boldLetter, type Drawing, lineHeight, type Mark, px, type Series } from './chart';
import { attributes, type Html, html } from './html';
import { apart } from './label-places';
import { placeLabels } from './mark-labels';
import { seriesColors } from './style';

const shapes = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond];

type Point = readonly [across: number, down: number];

/** One mark where it is drawn. */
export interface DrawnMark {
  /** Its color and shape. */
  readonly look: number;
  readonly at: Point;
  /** Where its spread begins and ends, and the numbers of both. */
  readonly from?: Point;
  readonly to?: Point;
  readonly low?: number;
  readonly high?: number;
  /** Its numbers, as attributes. */
  readonly data?: Readonly<Record<string, string | number>>;
  readonly hint?: string;
  readonly isUnsure?: true | undefined;
  readonly hasNoDot?: true | undefined;
}

export function drawMark(mark: DrawnMark): Html {
  const { look, at, from = at, to = at, low = 0, high = 0, data = {}, hint, isUnsure, hasNoDot } = mark;
  const color = `s${look % seriesColors}`;
  const d = hasNoDot ? '' : (symbol(shapes[look % shapes.length], 52).digits(1)() ?? '');
  const ends = { x1: px(from[0]), x2: px(to[0]), y1: px(from[1]), y2: px(to[1]) };
  const spread = { ...ends, 'data-low': low, 'data-high': high };
  const drawn = { ...data, opacity: isUnsure && 0.4, transform: `translate(${px(at[0])} ${px(at[1])})`, d };
  return html`${low < high ? html`<line class="spread ${color}"${attributes(spread)}/>` : undefined}<path class="dot ${color}"${attributes(drawn)}>${hint === undefined ? undefined : html`<title>${hint}</title>`}</path>
`;
}

/** The line, its marks with their numbers as data, and the spread of each. */
export function drawSeries(series: Series, n: number, { chart, x, y }: Drawing): Html {
  const { name, marks, look = n, isScattered, isDashed, hasNoDots } = series;
  const path = line<Mark>(
    (mark) => x(mark.x),
    (mark) => y(mark.y),
  ).digits(1)(marks);
  const hintOf = (mark: Mark) =>
    `${name}: ${chart.y.write(mark.y)} ${chart.y.name}, ${chart.x.write(mark.x)} ${chart.x.name}`;
  const drawn = marks.map((mark) => {
    const { low = mark.y, high = mark.y, data = {}, hint = hintOf(mark), isUnsure } = mark;
    const across = x(mark.x);
    const own = Object.entries(data).map(([key, value]) => [`data-${key}`, value]);
    return drawMark({
      ...{ look, low, high, hint, isUnsure, hasNoDot: hasNoDots },
      ...{ at: [across, y(mark.y)], from: [across, y(low)], to: [across, y(high)] },
      data: { 'data-series': name, 'data-x': mark.x, 'data-y': mark.y, ...Object.fromEntries(own) },
    });
  });
  const curve = isScattered
    ? undefined
    : html`<path class="curve s${look % seriesColors}${isDashed ? ' dashed' : ''}"${attributes({ d: path ?? '' })}/>
`;
  return html`${curve}${drawn}`;
}

/** Labels of marks, where they cover none. */
export function markLabels({ chart, frame, x, y }: Drawing): Html {
  const marks = chart.series.flatMap((series, n) =>
    series.marks.map((mark) => ({ mark, look: series.look ?? n })),
  );
  const bounds = { ...frame, left: frame.left, right: frame.width, top: frame.top - lineHeight };
  const placed = placeLabels(
    marks.map(({ mark }) => ({
      x: x(mark.x),
      y: y(mark.y),
      width: mark.label === undefined ? 0 : boldLetter * [...mark.label].length,
    })),
    bounds,
  );
  return html`${marks.map(({ mark, look }, n) => {
    if (mark.label === undefined) return undefined;
    const { x: across, y: up, anchor } = placed[n]!;
    const place = { x: px(across), y: px(up), 'text-anchor': anchor, 'dominant-baseline': 'central' };
    return html`<text class="name halo s${look % seriesColors}"${attributes(place)}>${mark.label}</text>
`;
  })}`;
}

/** Beside the last mark of each, apart from each other; a thin line joins those that had to move. */
export function seriesNames({ chart, frame, x, y }: Drawing): Html {
  const named = chart.series.flatMap((one, n) => {
    const last = one.marks.at(-1);
    return last && one.name !== ''
      ? [{ ...one, look: one.look ?? n, end: [x(last.x), y(last.y)] as const }]
      : [];
  });
  const places = apart(
    named.map(({ end }) => end[1]),
    { gap: lineHeight, from: frame.top, to: frame.bottom },
  );
  return html`${named.map(({ name, look, end }, n) => {
    const color = `s${look % seriesColors}`;
    const [at, place] = [frame.right + 14, px(places[n]!)];
    const joins = Math.abs(place - end[1]) > 3 || at - end[0] > 24;
    const leader = { x1: px(end[0]) + 7, y1: px(end[1]), x2: at - 3, y2: place };
    return html`${joins ? html`<line class="leader ${color}"${attributes(leader)}/>` : undefined}<text class="name ${color}"${attributes({ x: at, y: place, 'dominant-baseline': 'central' })}>${name}</text>
`;
  })}`;
}
