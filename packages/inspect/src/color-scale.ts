// A weight's color: from almost white to dark blue, so that it also orders in grey and for the color-blind.

type Rgb = readonly [red: number, green: number, blue: number];

const stops: readonly Rgb[] = [
  [247, 250, 254],
  [112, 171, 214],
  [9, 44, 98],
];
const notANumber = '#c8c8c8';
/** From this share of the scale on, black is harder to read than white. */
const darkFrom = 0.7;

export interface CellColor {
  readonly fill: string;
  readonly text: string;
}

/** @param share of the largest weight, from 0 to 1 */
export function colorOf(share: number): CellColor {
  if (Number.isNaN(share)) return { fill: notANumber, text: '#111111' };
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const below = Math.min(Math.floor(at), stops.length - 2);
  const [from, to] = [stops[below]!, stops[below + 1]!];
  const mixed = from.map((part, i) => Math.round(part + (to[i]! - part) * (at - below)));
  const fill = `#${mixed.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
  return { fill, text: share >= darkFrom ? '#ffffff' : '#111111' };
}
