// How a text is cut before bytes are merged, by the names that `tokenizer.ggml.pre` has (llama.cpp, src/llama-vocab.cpp).
import { UnsupportedError } from '@polyhead/core';

/** As tokenizer.json has them. */
interface PreTokenizer {
  readonly pre_tokenizer: object;
  /** A word that is a token stays whole, whatever could be merged in it. */
  readonly ignore_merges: boolean;
}

/** GPT-2's own pattern is that of `ByteLevel`. */
const gpt2 = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
const bytesOnly = { ...gpt2, use_regex: false };

const oneByOne = { type: 'Digits', individual_digits: true };

const gpt2Words = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)`;

/** GPT-4's pattern; digits go by so many together. */
const gpt4Words = (digits: string) =>
  String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|${digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

const split = (pattern: string) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});

const sequence = (...pretokenizers: readonly object[]) => ({ type: 'Sequence', pretokenizers });

const plain = (pre_tokenizer: object): PreTokenizer => ({ pre_tokenizer, ignore_merges: false });

const digitsThenGpt2 = plain(sequence(oneByOne, gpt2));

const known: ReadonlyMap<unknown, PreTokenizer> = new Map([
  ['gpt-2', plain(gpt2)],
  ['smollm', digitsThenGpt2],
  ['starcoder', digitsThenGpt2],
  ['refact', digitsThenGpt2],
  ['command-r', digitsThenGpt2],
  [
    'llama-bpe',
    { pre_tokenizer: sequence(split(gpt4Words(String.raw`\p{N}{1,3}`)), bytesOnly), ignore_merges: true },
  ],
  ['qwen2', plain(sequence(split(gpt4Words(String.raw`\p{N}`)), bytesOnly))],
  [
    'default',
    plain(
      sequence(
        split(String.raw`[\p{P}\$\+<=>\^~\|]+`),
        split(gpt2Words),
        split(String.raw`\p{N}+`),
        split('[0-9][0-9][0-9]'),
        bytesOnly,
      ),
    ),
  ],
]);

/** @throws UnsupportedError for a rule that is not known */
export function preTokenizer(name: unknown): PreTokenizer {
  const found = known.get(name);
  if (found) return found;
  throw new UnsupportedError('tokenizerFromGguf', 'tokenizer.ggml.pre must be a rule that is known', [
    `it is "${name}", none of ${[...known.keys()].join(', ')}`,
  ]);
}
