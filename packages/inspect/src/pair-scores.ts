// How often a head finds the word that it should, by people's judgement: from a verb its subject, from "she" a name.
import { ConfigError } from '@polyhead/core';
import { type HeadWeights, headsShape } from './head-weights';

/** A word of a text, and the one among its words that it should find. */
export interface LabelledPair {
  /** What joins the two, such as `subject and verb`. */
  readonly kind: string;
  /** [H, S, S], weights of the text; heads of several layers may be put together. Of all pairs in the same order. */
  readonly heads: HeadWeights;
  /** The tokens of the word that looks, by their places. */
  readonly from: readonly number[];
  /**
   * The tokens of each word that it may find, in the order of the text. Leave out what is no answer: the word itself, sinks,
   * signs, and what a causal head cannot see.
   */
  readonly words: readonly (readonly number[])[];
  /** The right one, by its place in `words`. */
  readonly to: number;
}

/** Words counted from one end, and the share of the pairs that have the right word there. */
export interface FixedPlace {
  /** `start`: 1 is the first word that may be found; `word`: -1 is the last one before the word that looks, 1 the next. */
  readonly from: 'start' | 'word';
  /** Which word. */
  readonly words: number;
  /** Of the pairs. */
  readonly share: number;
}

/** How heads do on the pairs of one kind. */
export interface PairScores {
  /** What joins the words of these pairs. */
  readonly kind: string;
  /** How many there are. */
  readonly pairs: number;
  /** The share that a head finds which looks anywhere. */
  readonly chance: number;
  /** The best fixed place, which takes no meaning to find. */
  readonly place: FixedPlace;
  /** [H]: the share that each head finds, looking most at the right word. */
  readonly shares: readonly number[];
  /** [H]: the share that it finds from the other words behind the right one: what it looks at whatever the word. */
  readonly anyway: readonly number[];
  /** [H]: how likely any of so many heads finds as many by luck, at most. */
  readonly luck: readonly number[];
  /** The head that finds most, among those that mean something if there are any; of several the one that finds fewest anyway. */
  readonly best: number;
  /** [H]: whether it finds more than the best fixed place, twice as many as anyway, and more than luck would in one case of 20. */
  readonly means: readonly boolean[];
}

/**
 * The share of labelled pairs that each head finds, by kind. A head finds a word that has more of its weight than any other
 * that may be found. As in Clark et al. 2019 (1906.04341), the weight of a word is the sum over its tokens, and that from a
 * word the mean; a fixed place is what a head has to beat. Luck is bounded for all heads together (Bonferroni): among
 * many heads the best one looks good by chance.
 *
 * @returns one for each kind, in the order of the pairs
 * @throws ShapeError, ConfigError for pairs that are none, and where they differ in heads
 * @example
 * const [verbs] = pairScores([{ kind: 'subject and verb', heads, from: [4], words: [[1], [2, 3]], to: 0 }]);
 * verbs.shares[verbs.best]; // 1
 */
export function pairScores(pairs: readonly LabelledPair[]): PairScores[] {
  checkPairs(pairs);
  const kinds = [...new Set(pairs.map(({ kind }) => kind))];
  return kinds.map((kind) =>
    scoresOf(
      kind,
      pairs.filter((pair) => pair.kind === kind),
    ),
  );
}

function scoresOf(kind: string, pairs: readonly LabelledPair[]): PairScores {
  const H = pairs[0]!.heads.length;
  const chances = pairs.map(({ words }) => 1 / words.length);
  const count = (isFound: (pair: LabelledPair, h: number) => boolean) =>
    Array.from({ length: H }, (_, h) => pairs.filter((pair) => isFound(pair, h)).length);
  const hits = count((pair, h) => finds(pair, h, pair.from));
  const anyway = count((pair, h) => finds(pair, h, otherRows(pair)));
  const place = bestPlace(pairs);
  const byLuck = luckOf(chances);
  const luck = hits.map((hit) => Math.min(1, H * byLuck[hit]!));
  const shares = hits.map((hit) => hit / pairs.length);
  const means = shares.map(
    (share, h) => share > place.share && hits[h]! >= 2 * anyway[h]! && luck[h]! < 0.05,
  );
  const rank = (h: number) =>
    Number(means[h]) * 2 * pairs.length + hits[h]! - anyway[h]! / (pairs.length + 1);
  const best = shares.reduce((most, _, h) => (rank(h) > rank(most) ? h : most), 0);
  return {
    kind,
    pairs: pairs.length,
    chance: chances.reduce((sum, chance) => sum + chance, 0) / pairs.length,
    place,
    shares,
    anyway: anyway.map((hit) => hit / pairs.length),
    luck,
    best,
    means,
  };
}

/** Whether these rows have more weight on the right word than on any other. */
function finds({ heads, words, to }: LabelledPair, h: number, rows: readonly number[]): boolean {
  const weights = words.map((tokens) =>
    rows.reduce((sum, i) => sum + tokens.reduce((ofRow, j) => ofRow + heads[h]![i]![j]!, 0), 0),
  );
  return weights.every((weight, n) => n === to || weight < weights[to]!);
}

/** All that stand behind the right word, and so see it, but those of the word that looks. */
function otherRows({ heads, from, words, to }: LabelledPair): number[] {
  const last = Math.max(...words[to]!);
  return [...heads[0]!.keys()].filter((i) => i > last && !from.includes(i));
}

/** The place, counted from either end, at which most right words stand. */
function bestPlace(pairs: readonly LabelledPair[]): FixedPlace {
  const starts = pairs.map(({ to }) => to + 1);
  const distances = pairs.map(({ from, words, to }) => {
    const before = words.filter(([first]) => first! < from[0]!).length;
    return to < before ? to - before : to - before + 1;
  });
  const places = (['word', 'start'] as const).flatMap((from) => {
    const all = from === 'start' ? starts : distances;
    return all.map((words) => ({
      from,
      words,
      share: all.filter((one) => one === words).length / all.length,
    }));
  });
  return places.reduce((best, place) => (place.share > best.share ? place : best));
}

/** [pairs + 1]: how likely n or more are found, each with its own chance (a Poisson binomial tail, summed exactly). */
function luckOf(chances: readonly number[]): number[] {
  let exactly = [1]; // how likely n are found
  for (const chance of chances)
    exactly = Array.from(
      { length: exactly.length + 1 },
      (_, n) => (exactly[n] ?? 0) * (1 - chance) + (exactly[n - 1] ?? 0) * chance,
    );
  return exactly.map((_, n) => exactly.slice(n).reduce((sum, p) => sum + p, 0));
}

function checkPairs(pairs: readonly LabelledPair[]): void {
  const where = 'pairScores';
  if (!Array.isArray(pairs) || pairs.length === 0)
    throw new ConfigError(where, 'pairs must be a list with a pair at least', { pairs });
  for (const [n, { kind, heads, from, words, to }] of pairs.entries()) {
    const [H, Sq, Skv] = headsShape(where, heads);
    const isPlace = (length: number) => (place: unknown) =>
      Number.isInteger(place) && (place as number) >= 0 && (place as number) < length;
    const arePlaces = (list: unknown, length: number) =>
      Array.isArray(list) && list.length > 0 && list.every(isPlace(length));
    if (H !== pairs[0]!.heads.length)
      throw new ConfigError(where, 'all pairs must have the same heads', {
        'heads of the first': pairs[0]!.heads.length,
        [`heads of pair ${n}`]: H,
      });
    const isFine =
      typeof kind === 'string' &&
      arePlaces(from, Sq) &&
      Array.isArray(words) &&
      words.every((tokens) => arePlaces(tokens, Skv)) &&
      isPlace(words.length)(to);
    if (!isFine)
      throw new ConfigError(
        where,
        `pair ${n} must have a kind, places of tokens, and the right word among them`,
        {
          ...{ kind, from, words, to },
          '[Sq, Skv]': [Sq, Skv],
        },
      );
  }
}
