import { describe, expect, it } from 'vitest';
import { readModelFiles } from './model-files';
import { createTokenizer, normalizeText } from './tokenizer';

const reserved = ['?', '<s>', '</s>', 'x', 'x', 'x'].map((piece) => [piece, 0] as const);

describe('createTokenizer', () => {
  it('takes the most probable segmentation, not the longest piece first', () => {
    const tokenize = createTokenizer([
      ...reserved,
      ['▁ab', -2],
      ['▁a', -1],
      ['b', -3],
      ['bc', -1],
      ['c', -1.5],
    ]);
    // ▁ab c scores -3.5, ▁a bc scores -2.
    expect(tokenize('abc').tokens).toEqual([
      { id: 7, piece: '▁a' },
      { id: 9, piece: 'bc' },
    ]);
  });

  it('never takes a reserved piece and reports what no piece covers', () => {
    const tokenize = createTokenizer([...reserved, ['▁', -1], ['a', -9], ['s', -9]]);
    expect(tokenize('<s>a😀')).toEqual({
      tokens: [
        { id: 6, piece: '▁' },
        { id: 8, piece: 's' },
        { id: 7, piece: 'a' },
      ],
      unknown: ['<', '>', '😀'],
    });
  });

  it("gives the published model's ids", () => {
    const tokenize = createTokenizer(readModelFiles().vocabulary);
    expect(tokenize('Call me Ishmael.').tokens.map(({ id }) => id)).toEqual([3650, 84, 16, 552, 252, 283, 6]);
    expect(tokenize('How old are you?').tokens.map(({ id }) => id)).toEqual([728, 446, 31, 19, 54]);
  });

  it('gives nothing for nothing', () => {
    const tokenize = createTokenizer([...reserved, ['▁', -1]]);
    expect(tokenize(' \n ')).toEqual({ tokens: [], unknown: [] });
  });
});

describe('normalizeText', () => {
  it('folds compatible forms, white space and line breaks, and drops control characters', () => {
    expect(normalizeText('  ﬁne\n\tday\u00a0\u001b[31m! ')).toBe('fine day [31m!');
  });
});
