import { describe, expect, it } from 'vitest';
import { textHeadMaps } from './text-head-maps';

const twoTokens = [
  [0.5, 0.5],
  [0.02, 0.98],
];
const uniform = (n: number) => Array.from({ length: n }, () => new Array<number>(n).fill(1 / n));
const labels = (n: number) => Array.from({ length: n }, (_, i) => `t${i}`);

describe('textHeadMaps', () => {
  it('draws queries down and keys across, with shades and values', () => {
    const { lines, drawn } = textHeadMaps([twoTokens], { queries: ['on', 'a'], width: 80, color: false });
    expect(drawn).toEqual({ queries: 2, keys: 2 });
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

  it('colors backgrounds and ends each cell', () => {
    const { lines } = textHeadMaps([twoTokens], { queries: ['on', 'a'], width: 80, color: true });
    expect(lines[4]).toBe(' a \x1b[48;5;233m\x1b[38;5;248m .02\x1b[0m\x1b[48;5;216m\x1b[38;5;16m .98\x1b[0m');
  });

  it.each([
    [121, 'head 1  head 2  head 3  head 4', '█.14'],
    [80, 'head 1  head 2  head 3  head 4', '████'],
    [60, 'head 1  head 2', '████'],
    [32, 'head 1', '█.14'],
  ])('puts as many maps as %i columns hold beside each other', (width, titles, cells) => {
    const { lines } = textHeadMaps(
      [0, 1, 2, 3].map(() => uniform(7)),
      { queries: labels(7), width, color: false },
    );
    expect(lines[0]!.trim().replace(/\s{2,}/g, '  ')).toBe(titles);
    expect(lines[3]).toContain(cells);
    expect(lines[3]!.includes('.14')).toBe(cells.includes('.14'));
    for (const line of lines.slice(0, -1)) expect([...line].length).toBeLessThanOrEqual(width);
  });

  it('draws the first tokens that fit where not all do', () => {
    const narrow = textHeadMaps([uniform(30)], { queries: labels(30), width: 24, color: false });
    expect(narrow.drawn).toEqual({ queries: 20, keys: 20 });
    for (const line of narrow.lines.slice(0, -1)) expect([...line].length).toBeLessThanOrEqual(24);
    expect(textHeadMaps([uniform(90)], { queries: labels(90), width: 400, color: false }).drawn).toEqual({
      queries: 40,
      keys: 40,
    });
  });

  it('keeps letters that would move their neighbours out of labels', () => {
    const { lines } = textHeadMaps([twoTokens], { queries: ['\u0301', 'ا'], width: 80, color: false });
    expect(lines.slice(1, 4)).toEqual(['    ?   ?', '? ▓.50▓.50', '?  .02█.98']);
  });

  it('draws keys that are not the queries', () => {
    const maps = textHeadMaps([[[0.1, 0.6, 0.3]]], { queries: ['der'], keys: ['a', 'b', 'c'], width: 80 });
    expect(maps.drawn).toEqual({ queries: 1, keys: 3 });
    expect(maps.lines.slice(0, 3)).toEqual(['    head 1', '      a   b   c', 'der ░.10█.60▓.30']);
  });

  it('draws rows that see nothing as empty, and what is no number as that', () => {
    const { lines } = textHeadMaps([[[0, 0]]], { queries: ['a'], keys: ['b', 'c'], width: 80 });
    expect(lines.slice(2)).toEqual(['a  .00 .00', '', 'weight from   .00    .00    .00    .00']);
    const broken = textHeadMaps([[[Number.NaN, 0.5]]], { queries: ['a'], keys: ['b', 'c'], width: 80 });
    expect(broken.lines[2]).toBe('a  NaN█.50');
  });

  it('keeps what is no weight inside its cell', () => {
    const odd = [0.5, Infinity, -0.25, -Infinity, 1.25, 123.4];
    const { lines } = textHeadMaps([[odd]], { queries: ['a'], keys: labels(6), width: 80 });
    expect(lines[3]).toBe('a  .50█Inf  <0  <0 1.3█ >9');
  });

  it('draws many heads, and keeps tokens from ending lines or coloring them', () => {
    const heads = Array.from({ length: 128 }, () => uniform(40));
    const { lines } = textHeadMaps(heads, { queries: labels(40).map((t) => `${t}\n\x1b[31m`), width: 90 });
    expect(lines.some((line) => line.includes('\n') || line.includes('\x1b'))).toBe(false);
    expect(lines.filter((line) => line.includes('head 1')).length).toBeGreaterThan(10);
    for (const line of lines.slice(0, -1)) expect([...line].length).toBeLessThanOrEqual(90);
  });

  it('writes numbers beside the rows of each map', () => {
    const beside = {
      entropy: [
        [0.688, 12.34],
        [Number.NaN, 0],
      ],
      'sink 😀': [
        [0.25, 1],
        [99999, -1.5],
      ],
    };
    const { lines } = textHeadMaps([twoTokens, twoTokens], { queries: ['on', 'a'], width: 40, beside });
    expect(lines).toEqual([
      '   head 1          head 2',
      '         e               e',
      '         n    s          n    s',
      '         t    i          t    i',
      '         r    n          r    n',
      '         o    k          o    k',
      '    o    p          o    p',
      '    n a  y    ?     n a  y    ?',
      'on ▓▓▓▓ 0.69 0.25  ▓▓▓▓  NaN ####',
      ' a   ██ 12.3 1.00    ██ 0.00 -1.5',
      '',
      'weight from ░ .05  ▒ .20  ▓ .39  █ .69',
    ]);
  });

  it('leaves room for the numbers beside', () => {
    const beside = { entropy: [new Array<number>(30).fill(1)] };
    const { lines, drawn } = textHeadMaps([uniform(30)], { queries: labels(30), width: 24, beside });
    expect(drawn).toEqual({ queries: 15, keys: 15 });
    for (const line of lines.slice(0, -1)) expect([...line].length).toBeLessThanOrEqual(24);
  });

  it('shows only the shade of weights that two decimals cannot tell apart, and says how small they are', () => {
    const pooled = [[[0.004, 0.0012]]];
    const { lines } = textHeadMaps(pooled, { queries: ['a'], keys: ['b', 'c'], width: 80 });
    expect(lines.slice(2)).toEqual(['a ██▒▒', '', 'weight from ░ .0002  ▒ .0008  ▓ .0016  █ .0028']);
  });

  it.each([
    [{ queries: ['a', 'b'], width: 80, beside: { x: [[1]] } }, /x must have a number for each row/],
    [{ queries: ['a'], width: 80 }, /there must be a token for each query and for each key[\s\S]*queries +1/],
    [{ queries: ['a', 'b'], keys: ['a'], width: 80 }, /tokens of keys +1/],
    [undefined as never, /options must be an object/],
    [{ queries: 'ab' as never, width: 80 }, /queries must be a list of strings/],
    [{ queries: ['a', 'b'], width: 0 }, /width must be a whole number above 0/],
    [{ queries: ['a', 'b'], width: 80, color: 5 as never }, /color must be true or false/],
  ])('refuses %j for two tokens', (options, message) => {
    expect(() => textHeadMaps([twoTokens], options)).toThrow(message);
  });
});
