// The tokenizer of a GGUF file as the files that libraries of tokenizers read: tokenizer.json and tokenizer_config.json
// (https://huggingface.co/docs/tokenizers). GGUF keeps tokens, their types, merges or scores, and the name of a rule.
import { UnsupportedError } from '@polyhead/core';
import { FileError } from '../errors';
import { preTokenizer } from './pre-tokenizers';

/** Two files of a tokenizer, as plain JSON. */
export interface TokenizerFiles {
  /** tokenizer.json */
  readonly tokenizer: object;
  /** tokenizer_config.json: special tokens by their roles, and the chat template. */
  readonly config: { readonly [name: string]: unknown };
}

const where = 'tokenizerFromGguf';

/** What `tokenizer.ggml.token_type` says. */
const tokenTypes = { unknown: 2, control: 3, userDefined: 4 } as const;
/** Every split of a token is looked at; no vocabulary has longer ones. */
const longestToken = 512;

interface Vocabulary {
  readonly tokens: readonly string[];
  readonly types: readonly number[];
  readonly special: Readonly<Record<Role, string | undefined>>;
}

const roles = ['bos', 'eos', 'unknown', 'padding'] as const;
type Role = (typeof roles)[number];

/**
 * The tokenizer of a GGUF file, for a library that reads tokenizer.json: byte-level BPE (`gpt2`) with the rules `gpt-2`, `smollm`,
 * `llama-bpe`, `qwen2` and `default`, and the BPE of SentencePiece (`llama`).
 *
 * @param metadata of the file
 * @throws UnsupportedError for another kind of tokenizer or another rule
 * @throws FileError where the file keeps none, or a broken one
 *
 * @example
 * const { tokenizer, config } = tokenizerFromGguf(checkpoint.metadata);
 * const { ids } = new Tokenizer(tokenizer, config).encode('Hello'); // of @huggingface/tokenizers
 * const same = tokenizerFromGguf(checkpoint.metadata, Tokenizer);
 */
export function tokenizerFromGguf(metadata: ReadonlyMap<string, unknown>): TokenizerFiles;
/**
 * The tokenizer itself.
 *
 * @param Tokenizer a class that is made of the two files, such as that of @huggingface/tokenizers
 */
export function tokenizerFromGguf<T>(
  metadata: ReadonlyMap<string, unknown>,
  Tokenizer: new (tokenizer: object, config: object) => T,
): T;
export function tokenizerFromGguf<T>(
  metadata: ReadonlyMap<string, unknown>,
  Tokenizer?: new (tokenizer: object, config: object) => T,
): T | TokenizerFiles {
  const files = filesOf(metadata);
  return Tokenizer ? new Tokenizer(files.tokenizer, files.config) : files;
}

function filesOf(metadata: ReadonlyMap<string, unknown>): TokenizerFiles {
  const model = metadata.get('tokenizer.ggml.model');
  if (model === undefined)
    throw new FileError(where, 'the file must keep a tokenizer', { 'tokenizer.ggml.model': model });
  if (model !== 'gpt2' && model !== 'llama')
    throw new UnsupportedError(where, 'the tokenizer must be of the kind gpt2 or llama', [
      `it is "${model}"`,
    ]);
  const vocabulary = readVocabulary(metadata);
  const { special } = vocabulary;
  const parts = model === 'gpt2' ? byteLevel(metadata, vocabulary) : sentencePiece(metadata, vocabulary);
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens(vocabulary),
    ...parts,
    post_processor: postProcessor(metadata, vocabulary, model === 'llama'),
  };
  const template = metadata.get('tokenizer.chat_template');
  const config = {
    bos_token: special.bos,
    eos_token: special.eos,
    unk_token: special.unknown,
    pad_token: special.padding,
    clean_up_tokenization_spaces: false,
    chat_template: typeof template === 'string' ? template : undefined,
  };
  const present = Object.entries(config).filter(([, value]) => value !== undefined);
  return { tokenizer, config: Object.fromEntries(present) };
}

/** Bytes as characters, merged by rank (Radford et al. 2019). */
function byteLevel(metadata: ReadonlyMap<string, unknown>, { tokens }: Vocabulary) {
  const { pre_tokenizer, ignore_merges } = preTokenizer(metadata.get('tokenizer.ggml.pre') ?? 'default');
  return {
    normalizer: null,
    pre_tokenizer,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: {
      ...bpe(tokens),
      unk_token: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges,
      merges: textsOf(metadata, 'tokenizer.ggml.merges'),
    },
  };
}

/** Characters, with ▁ for spaces, merged by the score of what they make (Kudo and Richardson 2018, 1808.06226). */
function sentencePiece(metadata: ReadonlyMap<string, unknown>, { tokens, special }: Vocabulary) {
  const hasPrefix = metadata.get('tokenizer.ggml.add_space_prefix') !== false;
  const scores = numbersOf(metadata, 'tokenizer.ggml.scores', tokens.length);
  const spaces = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
  const prefix = { type: 'Prepend', prepend: '▁' };
  return {
    normalizer: { type: 'Sequence', normalizers: hasPrefix ? [prefix, spaces] : [spaces] },
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(hasPrefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      ...bpe(tokens),
      unk_token: special.unknown ?? null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      merges: mergesByScore(tokens, scores),
    },
  };
}

function bpe(tokens: readonly string[]) {
  return {
    type: 'BPE',
    dropout: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
  };
}

/** All pairs of tokens that make a token, those that make the best ones first. */
function mergesByScore(
  tokens: readonly string[],
  scores: readonly number[],
): readonly (readonly [string, string])[] {
  const known = new Set(tokens);
  const merges = tokens.flatMap((token, id) => {
    const characters = [...token];
    if (characters.length > longestToken)
      throw new FileError(where, `tokens must have at most ${longestToken} characters`, {
        id,
        has: characters.length,
      });
    return characters.slice(1).flatMap((_, n) => {
      const pair = [characters.slice(0, n + 1).join(''), characters.slice(n + 1).join('')] as const;
      return pair.every((part) => known.has(part)) ? [{ pair, score: scores[id]! }] : [];
    });
  });
  return merges.sort((one, other) => other.score - one.score).map(({ pair }) => pair);
}

function addedTokens({ tokens, types }: Vocabulary): readonly object[] {
  const { unknown, control, userDefined } = tokenTypes;
  return tokens.flatMap((content, id) => {
    const special = types[id] === control || types[id] === unknown;
    if (!special && types[id] !== userDefined) return [];
    return [{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special }];
  });
}

/** Sets the token before a text that models expect, and the one behind it. */
function postProcessor(
  metadata: ReadonlyMap<string, unknown>,
  { tokens, special }: Vocabulary,
  isSentencePiece: boolean,
): object | null {
  const adds = (key: string, fallback: boolean) =>
    (metadata.get(`tokenizer.ggml.${key}`) ?? fallback) === true;
  const before = adds('add_bos_token', isSentencePiece || metadata.get('tokenizer.ggml.pre') === 'llama-bpe')
    ? special.bos
    : undefined;
  const after = adds('add_eos_token', false) ? special.eos : undefined;
  if (before === undefined && after === undefined) return null;
  const around = (ids: readonly string[]) => {
    const special = (id: string | undefined) =>
      id === undefined ? [] : [{ SpecialToken: { id, type_id: 0 } }];
    return ids.flatMap((id) => [...special(before), { Sequence: { id, type_id: 0 } }, ...special(after)]);
  };
  const added = [before, after].filter((token) => token !== undefined);
  return {
    type: 'TemplateProcessing',
    single: around(['A']),
    pair: around(['A', 'B']),
    special_tokens: Object.fromEntries(
      added.map((token) => [token, { id: token, ids: [tokens.indexOf(token)], tokens: [token] }]),
    ),
  };
}

function readVocabulary(metadata: ReadonlyMap<string, unknown>): Vocabulary {
  const tokens = textsOf(metadata, 'tokenizer.ggml.tokens');
  const types = metadata.has('tokenizer.ggml.token_type')
    ? numbersOf(metadata, 'tokenizer.ggml.token_type', tokens.length)
    : tokens.map(() => 1);
  const special = roles.map((role) => {
    const id = metadata.get(`tokenizer.ggml.${role}_token_id`);
    if (id !== undefined && (typeof id !== 'number' || tokens[id] === undefined))
      throw new FileError(where, `tokenizer.ggml.${role}_token_id must be a token`, {
        id,
        tokens: tokens.length,
      });
    return [role, id === undefined ? undefined : tokens[id]] as const;
  });
  return { tokens, types, special: Object.fromEntries(special) as Vocabulary['special'] };
}

function textsOf(metadata: ReadonlyMap<string, unknown>, key: string): readonly string[] {
  const texts = metadata.get(key);
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts;
  throw new FileError(where, `${key} must be a list of texts`, { [key]: texts });
}

function numbersOf(metadata: ReadonlyMap<string, unknown>, key: string, count: number): readonly number[] {
  const numbers = metadata.get(key);
  const isFine =
    Array.isArray(numbers) && numbers.length === count && numbers.every((x) => typeof x === 'number');
  if (isFine) return numbers;
  throw new FileError(where, `${key} must have a number for each token`, { [key]: numbers, tokens: count });
}
