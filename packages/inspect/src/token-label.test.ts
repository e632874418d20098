import { describe, expect, it } from 'vitest';
import { columnsOf, narrowLetters, printable } from './token-label';

describe('printable', () => {
  it.each([
    ['line feed\n and tab\t', 'line feed␊ and tab␉'],
    ['escape \x1b[31m, delete \x7f, \x85', 'escape ␛[31m, delete ␡, \ufffd'],
    ['an override \u202eabc', 'an override \ufffdabc'],
    ['half a pair \ud83d', 'half a pair \ufffd'],
    [
      'separators \u2028\u2029, no characters \ufffe\uffff',
      'separators \ufffd\ufffd, no characters \ufffd\ufffd',
    ],
    ['e\u0301 composed', 'é composed'],
    ['▁the 😀 שלום 東京 <&>', '▁the 😀 שלום 東京 <&>'],
  ])('makes one line of %j', (token, shown) => {
    expect(printable(token)).toBe(shown);
  });
});

describe('narrowLetters', () => {
  it.each([
    ['sea', 'sea'],
    ['▁é', '▁é'],
    ['\u0301', '?'],
    ['a😀b', 'a?b'],
    ['東京タワー한국', '?????' + '??'],
    ['שלום', '????'],
    ['ا', '?'],
    ['\n', '␊'],
    ['zero\u200dwidth', 'zero?width'],
  ])('keeps %j in columns', (token, letters) => {
    expect(narrowLetters(token).join('')).toBe(letters);
  });
});

it('columnsOf knows wide letters and marks', () => {
  expect(['a', '東', '😀', '\u0301', '！'].map(columnsOf)).toEqual([1, 2, 2, 0, 2]);
});
