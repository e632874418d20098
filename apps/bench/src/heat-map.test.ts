import { describe, expect, it } from 'vitest';
import { heatMaps } from './heat-map';

const twoTokens = [
  [0.5, 0.5],
  [0.02, 0.98],
];
const uniform = (n: number) => Array.from({ length: n }, () => new Array<number>(n).fill(1 / n));
const labels = (n: number) => Array.from({ length: n }, (_, i) => `t${i}`);

describe('heatMaps', () => {
  it('draws queries down and keys across, with shades and values', () => {
    const { lines, drawn } = heatMaps([twoTokens], { labels: ['on', 'a'], width: 80, color: false });
    expect(drawn).toBe(2);
    expect(lines).toEqual([
      '   head 1',
      '     o',
      '     n   a',
      'on ▓.50▓.50',
      ' a  .02█.98',
      '',
      'weight from ░ .05  ▒ .20  ▓ .39  █ .69',
    ]);
  });

  it('colours backgrounds and ends each cell', () => {
    const { lines } = heatMaps([twoTokens], { labels: ['on', 'a'], width: 80, color: true });
    expect(lines[4]).toBe(' a \x1b[48;5;233m\x1b[38;5;248m .02\x1b[0m\x1b[48;5;216m\x1b[38;5;16m .98\x1b[0m');
  });

  it.each([
    [121, 'head 1  head 2  head 3  head 4', '█.14'],
    [80, 'head 1  head 2  head 3  head 4', '████'],
    [60, 'head 1  head 2', '████'],
    [32, 'head 1', '█.14'],
  ])('puts as many maps as %i columns hold beside each other', (width, titles, cells) => {
    const { lines } = heatMaps(
      [0, 1, 2, 3].map(() => uniform(7)),
      { labels: labels(7), width, color: false },
    );
    expect(lines[0]!.trim().replace(/\s{2,}/g, '  ')).toBe(titles);
    expect(lines[3]).toContain(cells);
    expect(lines[3]!.includes('.14')).toBe(cells.includes('.14'));
    for (const line of lines.slice(0, -1)) expect([...line].length).toBeLessThanOrEqual(width);
  });

  it('draws the first tokens that fit where not all do', () => {
    const narrow = heatMaps([uniform(30)], { labels: labels(30), width: 24, color: false });
    expect(narrow.drawn).toBe(20);
    for (const line of narrow.lines.slice(0, -1)) expect([...line].length).toBeLessThanOrEqual(24);
    expect(heatMaps([uniform(90)], { labels: labels(90), width: 400, color: false }).drawn).toBe(40);
  });

  it('keeps letters that would move their neighbours out of labels', () => {
    const { lines } = heatMaps([twoTokens], { labels: ['\u0301', 'ا'], width: 80, color: false });
    expect(lines.slice(1, 4)).toEqual(['    ?   ?', '? ▓.50▓.50', '?  .02█.98']);
  });
});
