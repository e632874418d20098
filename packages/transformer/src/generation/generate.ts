// Tokens one after another: what follows a prompt, as an async iterator.
import type { AttentionKernel } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { CausalModel, LayerCaches, SequenceToSequenceModel } from '../models/causal-model';
import { beamSearch } from './beam-search';
import { type CheckedOptions, checkGenerate } from './check-generate';
import { type Sampling, tokenAt, tokenProbabilities } from './next-token';
import { Sequences } from './sequences';
import { uniform } from './uniform';

/** Options of `generate`. */
export interface GenerateOptions extends Sampling {
  /**
   * Where keys and values are kept, so that a step computes one token: a `ModelCache`. It may hold earlier tokens, which the
   * prompt follows. Afterwards it holds prompt and new tokens but for the last of each. Default: all is computed at each step.
   */
  readonly cache?: LayerCaches | undefined;
  /** The most new tokens. Default: as many as the model has positions for; 256 where they have no end. */
  readonly maxTokens?: number | undefined;
  /** Tokens that end a sequence, itself the last that is given. Default: none. */
  readonly stopTokens?: readonly number[] | undefined;
  /** What is drawn where the temperature is above 0; entries of a batch draw apart. Default: another at each call. */
  readonly seed?: number | undefined;
  /** Ends it with its reason. The cache then holds the same tokens in all layers, and serves on. */
  readonly signal?: AbortSignal | undefined;
  /** Tokens of a prompt that one call takes, where there is a cache: less memory at once. Default: all. */
  readonly chunkSize?: number | undefined;
  /**
   * Sequences that a beam search keeps; its result is given token by token when it is over. A cache must be made for as many
   * entries for each prompt, and holds what the beams ended with: reset it afterwards. Default: 1, no search.
   */
  readonly beams?: number | undefined;
  /** In a beam search sums of log probabilities are divided by length^lengthPenalty. Default: 1. */
  readonly lengthPenalty?: number | undefined;
  /** True: each token comes with the logits of all tokens. Not in a beam search. Default: false. */
  readonly logits?: boolean | undefined;
  /** First tokens of a target, for a model that reads a source. Default: its `startToken`. */
  readonly start?: readonly number[] | undefined;
  /** In place of the layers' own kernel. */
  readonly kernel?: AttentionKernel | undefined;
}

/** A new token. */
export interface GeneratedToken {
  /** Its number. */
  readonly token: number;
  /** What the model gave, before any filter: [V]. There where `logits` asks for it. */
  readonly logits?: Float32Array;
}

/** One new token of each prompt of a batch; undefined where that sequence has ended. */
export type GeneratedStep = readonly (GeneratedToken | undefined)[];

/**
 * The tokens that follow a prompt, one by one; of a batch of prompts, of any lengths, one list a step. A model that reads a
 * source takes that source for a prompt, and what is given is the target. Nothing is left in memory, however it ends.
 *
 * @param model `{ vocabularySize, apply, cacheShapes }`, or `{ decoder, encode }`
 * @param ids tokens of a prompt, or a list of prompts
 * @throws ConfigError, ShapeError at once for options out of bounds and prompts that the model cannot take; while it runs,
 *   the reason of the signal, and what the model throws
 * @example
 * for await (const { token } of generate(model, [1, 5, 3], { maxTokens: 20, temperature: 0.8, topP: 0.95, seed: 7 }))
 *   console.log(token);
 */
export function generate(
  model: CausalModel | SequenceToSequenceModel,
  ids: readonly number[],
  options?: GenerateOptions,
): AsyncGenerator<GeneratedToken, void, undefined>;
export function generate(
  model: CausalModel | SequenceToSequenceModel,
  ids: readonly (readonly number[])[],
  options?: GenerateOptions,
): AsyncGenerator<GeneratedStep, void, undefined>;
export function generate(
  model: CausalModel | SequenceToSequenceModel,
  ids: readonly number[] | readonly (readonly number[])[],
  options: GenerateOptions = {},
): AsyncGenerator<GeneratedToken | GeneratedStep, void, undefined> {
  const checked = checkGenerate(model, ids, options);
  const steps = checked.source ? afterEncoding(checked, checked.source) : stepsOf(checked);
  return Array.isArray(ids[0]) ? steps : onlyEntry(steps);
}

async function* onlyEntry(steps: AsyncGenerator<GeneratedStep, void, undefined>) {
  for await (const [token] of steps) yield token!;
}

/** Reads the source first. */
async function* afterEncoding(
  checked: CheckedOptions,
  { encode, ids, lengths }: NonNullable<CheckedOptions['source']>,
): AsyncGenerator<GeneratedStep, void, undefined> {
  checked.signal?.throwIfAborted();
  const memory = tf.tidy(() => {
    const isEqual = lengths.every((length) => length === lengths[0]);
    const { output } = encode(tf.tensor2d(ids, [lengths.length, ids.length / lengths.length], 'int32'), {
      lengths: isEqual ? undefined : lengths,
      kernel: checked.kernel,
    });
    return tf.keep(output); // steps go on beyond any tidy
  });
  try {
    yield* stepsOf(checked, {
      memory,
      lengths: lengths.every((n) => n === lengths[0]) ? undefined : lengths,
    });
  } finally {
    memory.dispose();
  }
}

async function* stepsOf(
  checked: CheckedOptions,
  source?: { readonly memory: tf.Tensor; readonly lengths: readonly number[] | undefined },
): AsyncGenerator<GeneratedStep, void, undefined> {
  const { decoder, prompts, ...options } = checked;
  const sequences = new Sequences(decoder, prompts, { ...options, source });
  if (options.beams > 1) yield* inSteps(await beamSearch(sequences, options));
  else yield* drawn(sequences, options);
}

/** Greedy where the temperature is 0. */
async function* drawn(
  sequences: Sequences,
  { maxTokens, stopTokens, seed, logits: wantsLogits, sampling }: Omit<CheckedOptions, 'decoder' | 'prompts'>,
): AsyncGenerator<GeneratedStep, void, undefined> {
  const isEnded = sequences.tokens.map(() => false);
  for (let step = 0; step < maxTokens && isEnded.includes(false); step++) {
    const logits = await sequences.nextLogits();
    const tokens = logits.map((own, b) => {
      if (isEnded[b]) return undefined;
      return tokenAt(tokenProbabilities(own, sampling, sequences.tokens[b]), uniform(seed, b, step));
    });
    sequences.append(tokens);
    tokens.forEach((token, b) => {
      if (token === undefined || !stopTokens.has(token)) return;
      isEnded[b] = true;
      sequences.end(b);
    });
    yield tokens.map((token, b) =>
      token === undefined ? undefined : { token, ...(wantsLogits && { logits: logits[b]! }) },
    );
  }
}

/** Sequences that are there whole, token by token. */
function* inSteps(sequences: readonly (readonly number[])[]): Generator<GeneratedStep, void, undefined> {
  const longest = Math.max(...sequences.map(({ length }) => length));
  for (let step = 0; step < longest; step++)
    yield sequences.map((tokens) => (step < tokens.length ? { token: tokens[step]! } : undefined));
}
