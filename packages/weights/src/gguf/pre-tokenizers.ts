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
const bytesOnly = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };
const oneDigit = { type: 'Digits', individual_digits: true };

/** GPT-4's pattern; digits go by so many together. */
const gpt4 = (digits: string) =>
  split(
    String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|${digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  );

const split = (pattern: string) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});

const sequence = (...pretokenizers: readonly object[]) => ({ type: 'Sequence', pretokenizers });

const rules: Readonly<Record<string, () => object>> = {
  'gpt-2': () => gpt2,
  smollm: () => sequence(oneDigit, gpt2),
  starcoder: () => sequence(oneDigit, gpt2),
  refact: () => sequence(oneDigit, gpt2),
  'command-r': () => sequence(oneDigit, gpt2),
  'llama-bpe': () => sequence(gpt4(String.raw`\p{N}{1,3}`), bytesOnly),
  qwen2: () => sequence(gpt4(String.raw`\p{N}`), bytesOnly),
  default: () =>
    sequence(
      split(String.raw`[\p{P}\$\+<=>\^~\|]+`),
      split(String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)`),
      split(String.raw`\p{N}+`),
      split('[0-9][0-9][0-9]'),
      bytesOnly,
    ),
};

/** @throws UnsupportedError for a rule that is not known */
export function preTokenizer(name: unknown): PreTokenizer {
  if (typeof name === 'string' && Object.hasOwn(rules, name))
    return { pre_tokenizer: rules[name]!(), ignore_merges: name === 'llama-bpe' };
  throw new UnsupportedError('tokenizerFromGguf', 'tokenizer.ggml.pre must be a rule that is known', [
    `it is "${name}", none of ${Object.keys(rules).join(', ')}`,
  ]);
}
