// Lines over numbers as SVG: in a page, where style picks the one for a phone, and as a picture of its own.
import { boldLetter, type LineChart, lineHeight, type Scale, widest } from './chart';
import { atOf, drawAxes, drawRule, scaleOf, ticksOf } from './chart-axes';
import { drawSeries, markLabels, seriesNames } from './chart-marks';
import { Html, html } from './html';
import { pictureStyle } from './style';

const sizes = { wide: [720, 400], narrow: [335, 360] } as const;

/** The chart twice, for a page of text and for a phone; style shows one of them. */
export function lineChart(chart: LineChart): Html {
  const pictures = (['wide', 'narrow'] as const).map(
    (name) => html`<div class="${name}">${draw(chart, sizes[name])}</div>`,
  );
  return html`${pictures}`;
}

const [margin, headHeight] = [16, 44];

/** The chart as an SVG document, with its description as its title. */
export function chartSvg(chart: LineChart): string {
  const [width, height] = [sizes.wide[0] + 2 * margin, sizes.wide[1] + headHeight + margin];
  const { text } =
    html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, Helvetica, Arial, sans-serif" role="img" aria-label="${chart.description}">
<style>${new Html(pictureStyle)}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="${margin}" y="28" font-size="16" fill="#1c1f22">${chart.description}</text>
<g transform="translate(${margin} ${headHeight})">${draw(chart, sizes.wide)}</g>
</svg>
`;
  return text;
}

function draw(chart: LineChart, [width, height]: readonly [number, number]): Html {
  const { series, x, y, rules = [], namesLines = true } = chart;
  const marks = series.flatMap((one) => one.marks);
  const across = scaleOf(x, [...marks.map((mark) => mark.x), ...atOf(rules, 'x')]);
  const up = scaleOf(y, [
    ...marks.flatMap(({ y: at, low = at, high = at }) => [at, low, high]),
    ...atOf(rules, 'y'),
  ]);
  const names = namesLines ? series.map(({ name }) => name) : [];
  const frame = {
    width,
    height,
    left: 10 + widest(ticksOf(up as Scale, y, 6).map(y.write)),
    right: width - 20 - widest(names, boldLetter),
    top: 34 + (rules.some(({ axis }) => axis === 'x') ? lineHeight : 0),
    bottom: height - 44,
  };
  const drawing = {
    chart,
    frame,
    x: across.range([frame.left, frame.right]) as Scale,
    y: up.range([frame.bottom, frame.top]) as Scale,
  };
  return html`<svg class="chart" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${chart.description}">
${drawAxes(drawing)}${rules.map((rule) => drawRule(rule, drawing))}
${series.map((one, n) => drawSeries(one, n, drawing))}
${markLabels(drawing)}${namesLines ? seriesNames(drawing) : undefined}</svg>`;
}
