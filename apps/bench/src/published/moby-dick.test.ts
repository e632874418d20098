import { expect, it } from 'vitest';
import { mobyDickSentences } from './moby-dick';

it('spreads sentences over the book, the first of each chapter first', () => {
  const sentences = mobyDickSentences(270, () => true);
  expect(sentences).toHaveLength(270); // 135 chapters
  expect(sentences[0]).toBe('Call me Ishmael.');
  expect(sentences.filter((sentence) => sentence.includes('\n'))).toEqual([]);
});

it('keeps to the sentences that fit', () => {
  const short = mobyDickSentences(5, (sentence) => sentence.length < 40);
  expect(short).toHaveLength(5);
  expect(short.every((sentence) => sentence.length < 40)).toBe(true);
});
