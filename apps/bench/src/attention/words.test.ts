import { expect, it } from 'vitest';
import { type Piece, placesOf, seenFrom, wordsOf } from './words';

/** `a b|c` is the word a, and bc in two pieces. */
const pieces = (text: string): Piece[] =>
  text.split(' ').flatMap((word) => word.split('|').map((part, n) => ({ text: part, startsWord: n === 0 })));

it('joins pieces of a word, and keeps signs apart', () => {
  const words = wordsOf(pieces("The wh|ale do|n|'|t sea|-|sick|, |“|Ah|!|”"));
  expect(words.map(({ text }) => text)).toEqual(['The', 'whale', "don't", 'sea-sick', ',', '“', 'Ah', '!”']);
  expect(words[1]!.tokens).toEqual([1, 2]);
});

it('sums the weights of a word, and means over the tokens that look', () => {
  const words = wordsOf(pieces('a b|c'));
  const head = [
    [1, 0, 0],
    [0.5, 0.25, 0.25],
    [0.25, 0, 0.75],
  ];
  expect(seenFrom([head], words, 1)).toEqual([
    [
      { word: 1, share: 0.625 },
      { word: 0, share: 0.375 },
    ],
  ]);
});

it('finds a word wherever it stands', () => {
  const words = wordsOf(pieces('The cat the'));
  expect(placesOf(words, ' THE ')).toEqual([0, 2]);
  expect(placesOf(words, '<script>')).toEqual([]);
});
