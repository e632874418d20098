// Logits to the next token. The filters stand in Hugging Face's order: repetition penalty, temperature, top-k, top-p, min-p.
import { ConfigError } from '@polyhead/core';
import { checkNumber } from '@polyhead/core/layer';

/** How the next token is chosen. */
export interface Sampling {
  /**
   * Logits are divided by it: below 1 likely tokens become likelier. Default: 0, the token of the largest logit, of equal ones
   * the first.
   */
  readonly temperature?: number | undefined;
  /** Only the so many likeliest tokens, and those equal to the last of them. Default: all. */
  readonly topK?: number | undefined;
  /**
   * Only the smallest set of likeliest tokens whose probabilities sum to at least this (Holtzman et al. 2020, arXiv
   * 1904.09751). Default: 1, all.
   */
  readonly topP?: number | undefined;
  /** Only tokens with at least this share of the likeliest's probability (Nguyen et al. 2024, arXiv 2407.01082). Default: 0. */
  readonly minP?: number | undefined;
  /**
   * Logits of tokens that have occurred, in the prompt too, are divided by it where they are positive, and multiplied where
   * they are negative (Keskar et al. 2019, arXiv 1909.05858). Default: 1.
   */
  readonly repetitionPenalty?: number | undefined;
}

/** Tokens that may follow, by their number. */
export interface TokenProbabilities {
  /** Numbers of tokens. */
  readonly tokens: Uint32Array;
  /** Of those tokens; they sum to 1. */
  readonly probabilities: Float64Array;
}

/** The names of the options of `Sampling`. */
export const samplingOptions = ['temperature', 'topK', 'topP', 'minP', 'repetitionPenalty'] as const;

/** @throws ConfigError for numbers out of bounds, and for filters that could have no effect */
export function checkSampling(where: string, sampling: Sampling): void {
  const { temperature = 0, topK = 1, topP = 1, minP = 0, repetitionPenalty = 1 } = sampling;
  checkNumber(where, 'temperature', temperature, [(t) => t >= 0, 'at least 0']);
  checkNumber(where, 'topK', topK, [(k) => Number.isInteger(k) && k > 0, 'a whole number above 0']);
  checkNumber(where, 'topP', topP, [(p) => p > 0 && p <= 1, 'above 0 and at most 1']);
  checkNumber(where, 'minP', minP, [(p) => p >= 0 && p <= 1, 'from 0 to 1']);
  checkNumber(where, 'repetitionPenalty', repetitionPenalty, [(p) => p > 0, 'above 0']);
  const idle = (['topK', 'topP', 'minP'] as const).filter((name) => sampling[name] !== undefined);
  if (temperature > 0 || idle.length === 0) return;
  throw new ConfigError(where, 'filters need a temperature above 0: at 0 the likeliest token is taken', {
    temperature,
    filters: idle,
  });
}

/**
 * The distribution that the next token is drawn from.
 *
 * @param logits [V]
 * @param earlier tokens that have occurred, for the repetition penalty
 * @throws ConfigError for options out of bounds, and for logits of which none is a number
 */
export function tokenProbabilities(
  logits: Float32Array,
  sampling: Sampling = {},
  earlier: readonly number[] = [],
): TokenProbabilities {
  const where = 'tokenProbabilities';
  checkSampling(where, sampling);
  const { temperature = 0, topK, topP = 1, minP = 0, repetitionPenalty = 1 } = sampling;
  const scores = penalized(logits, repetitionPenalty, earlier);
  const best = indexOfLargest(scores);
  if (!(scores[best]! > -Infinity && scores[best]! < Infinity))
    throw new ConfigError(where, 'the largest logit must be a finite number', { logits: scores[best] });
  if (temperature === 0) return { tokens: Uint32Array.of(best), probabilities: Float64Array.of(1) };
  const weights = new Float64Array(scores.length); // relative to the likeliest token's, 1
  for (let token = 0; token < weights.length; token++)
    weights[token] = Math.exp((scores[token]! - scores[best]!) / temperature);
  const likely =
    topK === undefined || topK >= weights.length ? allAbove(weights, 0) : kLargest(weights, topK);
  const nucleus = topP === 1 ? likely : smallestSet(likely, weights, topP);
  const tokens = minP > 0 ? nucleus.filter((token) => weights[token]! >= minP) : nucleus;
  const total = sumOf(tokens, weights);
  const probabilities = new Float64Array(tokens.length);
  for (let n = 0; n < tokens.length; n++) probabilities[n] = weights[tokens[n]!]! / total;
  return { tokens, probabilities };
}

/**
 * The token at which the sum of probabilities passes `random`.
 *
 * @param random in [0, 1)
 */
export function tokenAt({ tokens, probabilities }: TokenProbabilities, random: number): number {
  let sum = 0;
  const index = probabilities.findIndex((probability) => {
    sum += probability;
    return random < sum;
  });
  return tokens.at(index)!; // rounding may leave the whole sum below `random`: then the last
}

/** The first of the largest numbers. */
export function indexOfLargest(numbers: ArrayLike<number>): number {
  let best = 0;
  for (let n = 1; n < numbers.length; n++)
    if (numbers[n]! > numbers[best]! || Number.isNaN(numbers[best])) best = n;
  return best;
}

/** In doubles; the same numbers where there is no penalty. */
export function penalized(
  logits: Float32Array | Float64Array,
  penalty: number,
  earlier: readonly number[],
): Float32Array | Float64Array {
  if (penalty === 1 || earlier.length === 0) return logits;
  const scores = Float64Array.from(logits);
  for (const token of new Set(earlier)) {
    const logit = scores[token]!;
    scores[token] = logit > 0 ? logit / penalty : logit * penalty;
  }
  return scores;
}

/** Tokens of the k largest weights, and those equal to the last of them. */
function kLargest(weights: Float64Array, k: number): Uint32Array {
  const least = weights.slice().sort()[weights.length - k]!;
  return allAbove(weights, least);
}

/** Tokens of at least that weight, 0 left out. */
function allAbove(weights: Float64Array, least: number): Uint32Array {
  const tokens = new Uint32Array(weights.length);
  let count = 0;
  for (let token = 0; token < weights.length; token++) {
    const weight = weights[token]!;
    if (weight >= least && weight > 0) tokens[count++] = token;
  }
  return tokens.slice(0, count);
}

/** The fewest of these tokens whose share of them all is at least p. */
function smallestSet(tokens: Uint32Array, weights: Float64Array, p: number): Uint32Array {
  const enough = p * sumOf(tokens, weights);
  // The head of the distribution is small: only it is sorted.
  for (let least = 1e-3; ; least *= 1e-3) {
    const head = tokens.filter((token) => weights[token]! >= least);
    if (head.length < tokens.length && sumOf(head, weights) < enough) continue;
    const likeliestFirst = head.sort((one, other) => weights[other]! - weights[one]! || one - other);
    let [sum, count] = [0, 0];
    while (sum < enough && count < head.length) sum += weights[likeliestFirst[count++]!]!;
    return likeliestFirst.subarray(0, count).sort();
  }
}

function sumOf(tokens: Uint32Array, weights: Float64Array): number {
  let sum = 0;
  for (let n = 0; n < tokens.length; n++) sum += weights[tokens[n]!]!;
  return sum;
}
