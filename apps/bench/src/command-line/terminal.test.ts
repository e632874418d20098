import { expect, it } from 'vitest';
import { describeTerminal, wrapText } from './terminal';

const screen = { isTTY: true, columns: 91 };

it('takes width and color from a terminal', () => {
  expect(describeTerminal(screen, { TERM: 'xterm-256color' })).toEqual({ width: 91, color: true });
});

it('writes files 132 wide and plain, in continuous integration too', () => {
  expect(describeTerminal({}, { CI: 'true' })).toEqual({ width: 132, color: false });
});

it('obeys COLUMNS, NO_COLOR, FORCE_COLOR and a terminal without colors', () => {
  expect(describeTerminal(screen, { COLUMNS: '60', NO_COLOR: '1' })).toEqual({ width: 60, color: false });
  expect(describeTerminal({}, { COLUMNS: 'wide', FORCE_COLOR: '1' })).toEqual({ width: 132, color: true });
  expect(describeTerminal(screen, { TERM: 'dumb', COLUMNS: '3' })).toEqual({ width: 40, color: false });
});

it('breaks prose at spaces and leaves long words and colors whole', () => {
  expect(wrapText('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrapText('   one two', 7)).toEqual(['   one', 'two']);
  expect(wrapText('unbreakable a', 5)).toEqual(['unbreakable', 'a']);
  expect(wrapText('\x1b[1mone two\x1b[0m', 4)).toHaveLength(1);
});
