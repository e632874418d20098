// Text in, text out: generation with any tokenizer, and tokens made into text as they come.
import { ConfigError } from '@polyhead/core';
import type { CausalModel, SequenceToSequenceModel } from '../models/causal-model';
import { type GenerateOptions, generate } from './generate';

/** What turns text into tokens and back, such as `Tokenizer` of @huggingface/tokenizers. */
export interface TextTokenizer {
  /** Tokens of a text: a list, or an object that holds it as `ids`. */
  encode(text: string): readonly number[] | { readonly ids: readonly number[] };
  /** The text of tokens. */
  decode(tokens: number[]): string;
}

/** Options of `generateText`. */
export interface GenerateTextOptions extends GenerateOptions {
  /** What reads the prompt and writes the answer. */
  readonly tokenizer: TextTokenizer;
}

/** Tokens that may bear on how the next one is decoded. */
const lookBehind = 4;

/**
 * The text that follows a prompt, in pieces as they come; a stop token ends it and gives no text.
 *
 * @throws ConfigError where the tokenizer is none, or knows other tokens than the model; else as `generate`
 * @example
 * for await (const piece of generateText(model, 'Call me', { tokenizer, cache })) process.stdout.write(piece);
 */
export async function* generateText(
  model: CausalModel | SequenceToSequenceModel,
  prompt: string,
  { tokenizer, ...options }: GenerateTextOptions,
): AsyncGenerator<string, void, undefined> {
  if (typeof tokenizer?.encode !== 'function' || typeof tokenizer.decode !== 'function')
    throw new ConfigError('generateText', 'tokenizer must have `encode` and `decode`', { tokenizer });
  const encoded = tokenizer.encode(prompt);
  const ids = Array.from('ids' in encoded ? encoded.ids : encoded);
  const isEncoding = 'encode' in model;
  checkTokenizer(ids, isEncoding ? model.decoder : model);
  const stream = new TextStream(tokenizer, isEncoding ? [] : ids); // a target is a text of its own
  for await (const { token } of generate(model, ids, options)) {
    const piece = options.stopTokens?.includes(token) ? '' : stream.push(token);
    if (piece !== '') yield piece;
  }
  const rest = stream.end();
  if (rest !== '') yield rest;
}

/** Text out of tokens that come one by one: a character is given when its last byte is there, never half of it. */
export class TextStream {
  private tokens: number[];
  private written: number; // tokens whose text is given: decoders look at the token before

  /**
   * @param tokenizer what decodes
   * @param earlier tokens before the first, whose text is not given
   */
  constructor(
    private readonly tokenizer: Pick<TextTokenizer, 'decode'>,
    earlier: readonly number[] = [],
  ) {
    this.tokens = earlier.slice(-lookBehind);
    this.written = this.tokens.length;
  }

  /** The text that this token completes, which may be none. */
  push(token: number): string {
    this.tokens.push(token);
    const text = this.newText();
    if (/[\ufffd\ud800-\udbff]$/.test(text)) return ''; // bytes that are no character yet
    if (text !== '') {
      this.tokens = this.tokens.slice(this.written);
      this.written = this.tokens.length;
    }
    return text;
  }

  /** What is left when no token follows: bytes that never became a character come as U+FFFD. */
  end(): string {
    const text = this.newText();
    this.tokens = [];
    this.written = 0;
    return text;
  }

  private newText(): string {
    const { tokenizer, tokens, written } = this;
    const before = written > 0 ? tokenizer.decode(tokens.slice(0, written)) : '';
    return tokens.length > 0 ? tokenizer.decode(tokens).slice(before.length) : '';
  }
}

function checkTokenizer(ids: readonly number[], { vocabularySize }: CausalModel): void {
  const beyond = ids.find((id) => id >= vocabularySize);
  if (beyond === undefined) return;
  throw new ConfigError('generateText', 'tokenizer and model must have the same vocabulary', {
    'the tokenizer gives token': beyond,
    'tokens of the model': vocabularySize,
  });
}
