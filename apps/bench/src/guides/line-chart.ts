// Lines over numbers, as an SVG file of its own.
import { scaleLinear, scaleLog } from 'd3-scale';

export interface Axis {
  readonly name: string;
  /** The base of a logarithmic axis. Default: linear. */
  readonly log?: 2 | 10;
  /** From and to. Default: what the points need. */
  readonly domain?: readonly [number, number];
  /** A number as its tick says it. */
  readonly write?: (value: number) => string;
}

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly isDashed?: boolean;
}

export interface Chart {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
}

const [width, height] = [680, 360];
const plot = { left: 64, right: 500, top: 52, bottom: 304 };
/** Okabe and Ito 2008: told apart by those who see fewer colors. */
const colors = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9', '#E69F00', '#595959'];
const nameHeight = 16;

export function lineChart({ title, x, y, lines }: Chart): string {
  const points = lines.flatMap((line) => line.points);
  const across = scaleOf(
    x,
    points.map(([at]) => at),
    [plot.left, plot.right],
  );
  const up = scaleOf(
    y,
    points.map(([, at]) => at),
    [plot.bottom, plot.top],
  );
  const names = apart(lines.map(({ points: own }) => up(own.at(-1)![1])));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, sans-serif" font-size="13" role="img" aria-label="${escapeXml(title)}">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="16" y="24" font-size="16" fill="#202020">${escapeXml(title)}</text>`,
    ...ticksOf(up, y).map((tick) => {
      const at = round(up(tick));
      return `<path d="M${plot.left} ${at}H${plot.right}" stroke="#e4e4e4"/><text x="${plot.left - 8}" y="${at + 4}" text-anchor="end" fill="#505050">${written(y, tick)}</text>`;
    }),
    ...ticksOf(across, x).map((tick) => {
      const at = round(across(tick));
      return `<path d="M${at} ${plot.bottom}v5" stroke="#808080"/><text x="${at}" y="${plot.bottom + 20}" text-anchor="middle" fill="#505050">${written(x, tick)}</text>`;
    }),
    `<path d="M${plot.left} ${plot.bottom}H${plot.right}" stroke="#808080"/>`,
    `<text x="${plot.left - 48}" y="${plot.top - 10}" fill="#505050">${escapeXml(y.name)}</text>`,
    `<text x="${plot.right}" y="${plot.bottom + 42}" text-anchor="end" fill="#505050">${escapeXml(x.name)}</text>`,
    ...lines.map(({ name, points: own, isDashed }, n) => {
      const color = colors[n % colors.length];
      const places = own.map(([a, b]) => [round(across(a)), round(up(b))] as const);
      const dots = isDashed
        ? ''
        : places.map(([a, b]) => `<circle cx="${a}" cy="${b}" r="3.5" fill="${color}"/>`).join('');
      const path = `<polyline points="${places.join(' ')}" fill="none" stroke="${color}" stroke-width="2"${isDashed ? ' stroke-dasharray="6 4"' : ''}/>`;
      return `${path}${dots}<text x="${plot.right + 12}" y="${round(names[n]! + 4)}" fill="${color}">${escapeXml(name)}</text>`;
    }),
    '</svg>',
  ].join('\n')}\n`;
}

function scaleOf({ log, domain }: Axis, values: readonly number[], range: readonly [number, number]) {
  const [from, to] = domain ?? [Math.min(...values), Math.max(...values)];
  const scale = log ? scaleLog().base(log) : scaleLinear();
  return scale.domain([from, to]).range(range);
}

function ticksOf(scale: ReturnType<typeof scaleOf>, { log }: Axis): number[] {
  const ticks = scale.ticks(5);
  if (!log) return ticks;
  const powers = ticks.filter((tick) =>
    Number.isInteger(Math.round(1e6 * (Math.log(tick) / Math.log(log))) / 1e6),
  );
  return powers.length > 8 ? powers.filter((_, n) => n % 2 === 0) : powers;
}

const written = ({ write }: Axis, tick: number) => escapeXml(write ? write(tick) : tick.toLocaleString('en'));
const round = (x: number) => Math.round(x * 10) / 10;
const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Names at the ends of lines, moved so that none lies upon another. */
function apart(wanted: readonly number[]): number[] {
  const order = [...wanted.keys()].sort((a, b) => wanted[a]! - wanted[b]!);
  const places = [...wanted];
  let free = plot.top;
  for (const n of order) {
    places[n] = Math.max(free, wanted[n]!);
    free = places[n]! + nameHeight;
  }
  let below = plot.bottom;
  for (const n of order.reverse()) {
    places[n] = Math.min(below, places[n]!);
    below = places[n]! - nameHeight;
  }
  return places;
}
