import { expect, it } from 'vitest';
import { marksAt, writeNumber } from './chart';
import { chartSvg } from './line-chart';

const axis = { name: 'n & m', include: [0, 10], write: writeNumber };
const svg = chartSvg({
  description: '<t>',
  x: axis,
  y: axis,
  series: ['one', 'two'].map((name, n) => ({
    name,
    marks: marksAt([
      [0, 0],
      [5, 2.5],
      [10, 5 + n / 100],
    ]),
  })),
});

it('a picture of its own holds the numbers of its marks, and no markup that it was given', () => {
  expect(svg).toContain('data-series="one" data-x="5" data-y="2.5"');
  expect(svg).toContain('n &#38; m');
  expect(svg).not.toContain('<t>');
});

it('a line is straight through points of one line', () => {
  const [, points] = /class="curve s0" d="M(.+?)"/.exec(svg)!;
  const [a, b, c] = points!.split('L').map((point) => point.split(',').map(Number) as [number, number]);
  expect((a![0] + c![0]) / 2).toBeCloseTo(b![0], 0);
  expect((a![1] + c![1]) / 2).toBeCloseTo(b![1], 0);
});

it('names do not lie upon each other', () => {
  const heights = [...svg.matchAll(/<text class="name s\d"[^>]* y="([\d.]+)"/g)].map(([, y]) => Number(y));
  expect(heights).toHaveLength(2);
  expect(Math.abs(heights[1]! - heights[0]!)).toBeGreaterThanOrEqual(15);
});

it('colors stand in it, for programs that know no variables', () => {
  expect(svg).toContain('stroke: #005f9e');
  expect(svg).not.toContain('var(');
});
