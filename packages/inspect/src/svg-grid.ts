// Numbers as a grid of colored cells, and the bar that says what the colors mean.
import { colorOf } from './color-scale';
import { decimalsOf } from './head-weights';
import { element, escapeXml, label } from './svg';

/** Pixels of a cell that holds two decimals. */
export const valueCell = 36;
const barWidth = 14;

interface Grid {
  readonly rows: readonly (readonly number[])[];
  readonly largest: number;
  /** What a cell is, shown where the pointer rests. */
  nameOf(i: number, j: number): string;
}

/** Cells of a size that holds two decimals have their number in them. */
export function grid({ rows, largest, nameOf }: Grid, cell: number): string {
  const drawn = rows.flatMap((row, i) =>
    row.map((value, j) => {
      const { fill, text } = colorOf(largest > 0 ? value / largest : value);
      const place = { x: j * cell, y: i * cell, width: cell, height: cell };
      const square = { ...place, 'data-weight': `${Number(value.toPrecision(6))}`, fill };
      if (cell !== valueCell) {
        const hint = `${nameOf(i, j)}: ${value.toFixed(decimalsOf(largest))}`;
        return element('rect', square, element('title', {}, escapeXml(hint)));
      }
      const center = { x: (j + 0.5) * cell, y: (i + 0.5) * cell, fill: text };
      return element('rect', square) + label(value.toFixed(2), center);
    }),
  );
  const size = { width: rows[0]!.length * cell, height: rows.length * cell };
  const frame = { ...size, fill: 'none', stroke: '#888888' };
  const centered = { 'font-size': 11, 'text-anchor': 'middle', 'dominant-baseline': 'central' };
  return element('g', centered, drawn.join('')) + element('rect', frame);
}

/** The scale, largest number on top, about as high as a grid. */
export function colorBar(largest: number, gridHeight: number, name: string): string {
  const [height, steps] = [Math.max(80, Math.min(gridHeight, 240)), 40];
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
  const heading = label(name, { y: -10, 'font-style': 'italic' });
  return [...slices, frame, ...ticks, heading].join('');
}

export function moved(x: number, y: number, content: string): string {
  return element('g', { transform: `translate(${fixed(x)} ${fixed(y)})` }, content);
}

export const fixed = (pixels: number) => Number(pixels.toFixed(2));
