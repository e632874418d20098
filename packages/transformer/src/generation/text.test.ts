import { isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CausalModel } from '../models/causal-model';
import { generateText, TextStream, type TextTokenizer } from './text';

/** Tokens are bytes of UTF-8. */
const bytes: TextTokenizer = {
  encode: (text) => [...new TextEncoder().encode(text)],
  decode: (tokens) => new TextDecoder().decode(Uint8Array.from(tokens)),
};

/** Words that begin with a space, which a text does not begin with. */
const words: TextTokenizer = {
  encode: () => [0],
  decode: (tokens) =>
    tokens
      .map((token) => ` w${token}`)
      .join('')
      .trimStart(),
};

describe('TextStream', () => {
  it('gives whole characters only, and in all the whole text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (random) => {
        const text = bytes.decode(bytes.encode(random) as number[]); // lone surrogates have no bytes
        const stream = new TextStream(bytes);
        const pieces = (bytes.encode(text) as number[]).map((token) => stream.push(token));
        pieces.push(stream.end());
        expect(pieces.join('')).toBe(text);
        if (text.includes('\ufffd')) return;
        for (const piece of pieces) expect([...piece].length).toBeLessThanOrEqual(1);
        expect(pieces.some((piece) => piece.includes('\ufffd'))).toBe(false);
      }),
    );
  });

  it('keeps the space before a word, whose decoder takes it from the first', () => {
    const stream = new TextStream(words);
    expect([1, 2, 3].map((token) => stream.push(token))).toEqual(['w1', ' w2', ' w3']);
    const behind = new TextStream(words, [7, 8]);
    expect([1, 2].map((token) => behind.push(token))).toEqual([' w1', ' w2']);
  });

  it('gives bytes that never become a character at the end', () => {
    const stream = new TextStream(bytes);
    expect([0xe2, 0x82].map((token) => stream.push(token))).toEqual(['', '']);
    expect(stream.end()).toBe('\ufffd');
  });
});

/** Goes through a text, whatever came before. */
function parrot(text: string): CausalModel {
  const tokens = bytes.encode(text) as number[];
  let at = 0;
  return {
    vocabularySize: 256,
    cacheShapes: () => ({ self: [], cross: [] }),
    apply: () => {
      const logits = new Float32Array(256);
      logits[tokens[at++] ?? 0] = 1;
      return { logits: tf.tensor3d(logits, [1, 1, 256]), kernels: [] };
    },
  };
}

describe('generateText', () => {
  it('streams the text up to a stop token, which gives none', async () => {
    const pieces: string[] = [];
    const options = { tokenizer: bytes, stopTokens: [0] };
    for await (const piece of generateText(parrot('Wal → 🐳'), 'a', options)) pieces.push(piece);
    expect(pieces).toEqual(['W', 'a', 'l', ' ', '→', ' ', '🐳']);
  });

  it('takes encodings that are objects, as those of @huggingface/tokenizers', async () => {
    const tokenizer = { ...bytes, encode: (text: string) => ({ ids: bytes.encode(text) as number[] }) };
    let text = '';
    for await (const piece of generateText(parrot('ab'), 'x', { tokenizer, maxTokens: 2 })) text += piece;
    expect(text).toBe('ab');
  });

  it.each([
    [undefined, /must have `encode` and `decode`/],
    [{ ...bytes, encode: () => [300] }, /the same vocabulary\n.*300\n.*256/],
  ])('refuses a tokenizer that is none, or another model’s', async (tokenizer, message) => {
    const attempt = generateText(parrot(''), 'x', { tokenizer: tokenizer as TextTokenizer }).next();
    await expect(attempt).rejects.toThrow(message);
    await expect(
      generateText(parrot(''), 'x', { tokenizer: tokenizer as TextTokenizer }).next(),
    ).rejects.toSatisfy(isAttentionError);
  });
});
