// A tokenizer.json out of a GGUF's metadata, in the hands of a library of tokenizers: the ids are those that the libraries which
// trained the vocabularies give.
import { Tokenizer } from '@huggingface/tokenizers';
import { UnsupportedError } from '@polyhead/core';
import { describe, expect, it } from 'vitest';
import { FileError } from '../errors';
import file from '../fixtures/tokenizers.json';
import { tokenizerFromGguf } from './tokenizer';

const { texts, byteLevel, sentencePiece } = file;

type Values = Readonly<Record<string, unknown>>;

const metadataOf = (values: Values) =>
  new Map(Object.entries(values).map(([key, value]) => [`tokenizer.${key}`, value] as const));

const byteLevelValues = (pre: string): Values => ({
  'ggml.model': 'gpt2',
  'ggml.pre': pre,
  'ggml.tokens': byteLevel.tokens,
  'ggml.token_type': byteLevel.tokens.map((token) => (token === '<|end|>' ? 3 : 1)),
  'ggml.merges': byteLevel.merges,
  'ggml.eos_token_id': 0,
  'ggml.add_bos_token': false,
  chat_template: '{{ messages }}',
});

const sentencePieceValues: Values = {
  'ggml.model': 'llama',
  'ggml.tokens': sentencePiece.tokens,
  'ggml.scores': sentencePiece.scores,
  'ggml.token_type': sentencePiece.types,
  'ggml.bos_token_id': sentencePiece.bos,
  'ggml.eos_token_id': sentencePiece.eos,
  'ggml.unknown_token_id': sentencePiece.unknown,
};

/** The library decodes no empty list, and where tokens stand for bytes it drops a byte order mark at the beginning. */
const decoded = (tokenizer: Tokenizer, ids: readonly number[]) =>
  ids.length === 0 ? '' : tokenizer.decode([...ids]);
const withoutMark = (text: string) => text.replace(/^\ufeff/, '');

function open(values: Values): Tokenizer {
  const { tokenizer, config } = tokenizerFromGguf(metadataOf(values));
  return new Tokenizer(JSON.parse(JSON.stringify(tokenizer)), config);
}

describe('the tokenizer of a GGUF file', () => {
  it.each(Object.entries(byteLevel.ids))('cuts and merges by the rule %s', (pre, ids) => {
    const tokenizer = open(byteLevelValues(pre));
    texts.forEach((text, n) => {
      expect(tokenizer.encode(text).ids, text).toEqual(ids[n]);
      expect(decoded(tokenizer, ids[n]!)).toBe(text);
    });
  });

  it('merges by the scores of SentencePiece, and falls back to bytes', () => {
    const tokenizer = open({ ...sentencePieceValues, 'ggml.add_bos_token': false });
    texts.forEach((text, n) => {
      if (text === '') return; // SentencePiece alone gives nothing for nothing
      expect(tokenizer.encode(text).ids, text).toEqual(sentencePiece.ids[n]);
      expect(decoded(tokenizer, sentencePiece.ids[n]!)).toBe(withoutMark(sentencePiece.decoded[n]!));
    });
  });

  it('knows special tokens, and sets those that the model expects', () => {
    const end = open(byteLevelValues('smollm')).encode('whale<|end|>whale').ids;
    expect(end.filter((id) => id === 0)).toHaveLength(1);
    const { bos, eos, ids } = sentencePiece;
    expect(open(sentencePieceValues).encode(texts[0]!).ids).toEqual([bos, ...ids[0]!]);
    const both = { ...sentencePieceValues, 'ggml.add_eos_token': true };
    expect(open(both).encode(texts[0]!).ids).toEqual([bos, ...ids[0]!, eos]);
    const { config } = tokenizerFromGguf(metadataOf(byteLevelValues('smollm')));
    expect(config).toMatchObject({ eos_token: '<|end|>', chat_template: '{{ messages }}' });
    expect(config).not.toHaveProperty('bos_token');
  });

  it('cuts words apart by the rule that stands in for none', () => {
    const { 'ggml.pre': _, ...values } = byteLevelValues('');
    const tokenizer = open(values);
    for (const text of texts) expect(decoded(tokenizer, tokenizer.encode(text).ids)).toBe(text);
  });

  it('is refused where it is of another kind, or broken', () => {
    const wrong: readonly (readonly [Values, typeof FileError | typeof UnsupportedError, RegExp])[] = [
      [{}, FileError, /must keep a tokenizer/],
      [{ ...byteLevelValues('gpt-2'), 'ggml.model': 'bert' }, UnsupportedError, /it is "bert"/],
      [byteLevelValues('viking'), UnsupportedError, /it is "viking", none of gpt-2/],
      [{ ...byteLevelValues('gpt-2'), 'ggml.tokens': 7 }, FileError, /tokens must be a list of texts/],
      [
        { ...byteLevelValues('gpt-2'), 'ggml.merges': undefined },
        FileError,
        /merges must be a list of texts/,
      ],
      [{ ...byteLevelValues('gpt-2'), 'ggml.token_type': [1] }, FileError, /a number for each token/],
      [{ ...byteLevelValues('gpt-2'), 'ggml.eos_token_id': 1e9 }, FileError, /eos_token_id must be a token/],
      [{ ...sentencePieceValues, 'ggml.scores': undefined }, FileError, /scores must have a number/],
      [{ ...sentencePieceValues, 'ggml.tokens': ['x'.repeat(1e6)], 'ggml.scores': [0] }, FileError, /./],
    ];
    for (const [values, kind, message] of wrong) {
      expect(() => tokenizerFromGguf(metadataOf(values))).toThrow(kind);
      expect(() => tokenizerFromGguf(metadataOf(values))).toThrow(message);
    }
  });
});
