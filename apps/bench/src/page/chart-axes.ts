// Scales by D3, their ticks, and the lines across that matter.
import { scaleLinear, scaleLog } from 'd3-scale';
import { wrapText } from '../command-line/terminal';
import { type Axis, type Drawing, letter, lineHeight, px, type Rule, type Scale } from './chart';
import { attributes, type Html, html } from './html';

/** Over all values, with some room. */
export function scaleOf({ log, include = [] }: Axis, values: readonly number[]) {
  const all = [...values, ...include].filter((value) => Number.isFinite(value) && (!log || value > 0));
  const [from, to] = [Math.min(...all), Math.max(...all)];
  if (log) {
    const share = from === to ? 2 : (to / from) ** 0.04;
    return scaleLog()
      .base(log)
      .domain([from / share, to * share]);
  }
  const more = from === to ? Math.abs(from) / 10 || 1 : (to - from) * 0.06;
  return scaleLinear().domain([from - (from === 0 ? 0 : more), to + more]);
}

export const atOf = (rules: readonly Rule[], axis: Rule['axis']) =>
  rules.filter((rule) => rule.axis === axis).map(({ at }) => at);

/** Powers of two, or 1, 2, 5 and their multiples by ten; more or fewer where a logarithmic axis is short or long. */
export function ticksOf(scale: Scale, { log }: Axis, count: number): number[] {
  if (log === 2) {
    const [from, to] = scale.domain().map(Math.log2) as [number, number];
    const powers = Array.from(
      { length: Math.floor(to) - Math.ceil(from) + 1 },
      (_, n) => Math.ceil(from) + n,
    );
    const step = Math.ceil(powers.length / count);
    return powers.filter((power) => power % step === 0).map((power) => 2 ** power);
  }
  const ticks = scale.ticks(count);
  if (log === undefined) return ticks;
  const among = (digits: string) => ticks.filter((tick) => digits.includes(tick.toExponential()[0]!));
  const choices = ['12345', '1235', '125', '1'].map(among);
  return choices.find(({ length }) => length <= count + 1) ?? among('1');
}

/** Lines of the grid, ticks, and the names of both axes. */
export function drawAxes({ chart, frame, x, y }: Drawing): Html {
  const { left, right, bottom, width, height } = frame;
  const wanted = Math.max(2, Math.floor((right - left) / 64));
  const xTicks = ticksOf(x, chart.x, wanted);
  return html`${ticksOf(y, chart.y, 6).map(
    (
      tick,
    ) => html`<line class="grid"${attributes({ x1: left, x2: right, y1: px(y(tick)), y2: px(y(tick)) })}/>
<text${attributes({ x: left - 8, y: px(y(tick)), 'text-anchor': 'end', 'dominant-baseline': 'central' })}>${chart.y.write(tick)}</text>
`,
  )}<line class="axis"${attributes({ x1: left, x2: right, y1: bottom, y2: bottom })}/>
${xTicks.map(
  (
    tick,
  ) => html`<line class="axis"${attributes({ x1: px(x(tick)), x2: px(x(tick)), y1: bottom, y2: bottom + 4 })}/>
<text${attributes({ x: px(x(tick)), y: bottom + 17, 'text-anchor': 'middle' })}>${chart.x.write(tick)}</text>
`,
)}<text class="title" x="0" y="11">${chart.y.name}</text>
<text class="title"${attributes({ x: Math.min(width, right), y: height - 6, 'text-anchor': 'end' })}>${chart.x.name}</text>
`;
}

/** With its name, above the line or at its end. */
export function drawRule({ at, axis, name }: Rule, { frame, x, y }: Drawing): Html {
  const { left, right, top, bottom } = frame;
  if (axis === 'y') {
    const height = px(y(at));
    return html`<line class="rule"${attributes({ x1: left, x2: right, y1: height, y2: height, 'data-y': at })}/>
${wrapText(name, (right - left - 6) / letter)
  .reverse()
  .map(
    (line, n) =>
      html`<text class="rule-name halo"${attributes({ x: left + 6, y: height - 6 - n * lineHeight })}>${line}</text>`,
  )}`;
  }
  const place = px(x(at));
  const isRight = place - left > (right - left) / 2;
  return html`<line class="rule"${attributes({ x1: place, x2: place, y1: top - 8, y2: bottom, 'data-x': at })}/>
<text class="rule-name halo"${attributes({ x: place + (isRight ? 4 : -4), y: top - 13, 'text-anchor': isRight ? 'end' : 'start' })}>${name}</text>`;
}
