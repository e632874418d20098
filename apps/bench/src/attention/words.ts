// Tokens as the words of their text: what a model reads in pieces, a person asks for whole.
import type { HeadWeights } from '@polyhead/inspect';

/** A token as text. */
export interface Piece {
  readonly text: string;
  /** A space stands before it, or the text begins. */
  readonly startsWord: boolean;
}

export interface Word {
  readonly text: string;
  /** Places of its tokens, each behind the other. */
  readonly tokens: readonly number[];
}

/** How many of the words that are looked at are named, and the share from which a word is worth its name. */
export const strongest = 3;
export const leastNamed = 0.005;

type Kind = 'letters' | 'joint' | 'signs';

/** Runs of letters and digits, with hyphens and apostrophes among them; signs are words of their own. */
export function wordsOf(pieces: readonly Piece[]): Word[] {
  const words: { text: string; tokens: number[]; kind: Kind }[] = [];
  for (const [n, { text, startsWord }] of pieces.entries()) {
    const kind = kindOf(text);
    const last = words.at(-1);
    const goesOn =
      last && (last.kind === kind || last.kind === 'joint' || (kind === 'joint' && last.kind === 'letters'));
    if (goesOn && !startsWord) {
      last.text += text;
      last.tokens.push(n);
      last.kind = kind;
    } else words.push({ text, tokens: [n], kind });
  }
  return words.map(({ text, tokens }) => ({ text, tokens }));
}

function kindOf(text: string): Kind {
  if (/^[-'’]?[\p{L}\p{M}\p{N}]/u.test(text)) return 'letters';
  return /^[-'’]*$/u.test(text) ? 'joint' : 'signs';
}

/** A word that is looked at, and its share of the weight. */
export interface Seen {
  /** Place among the words. */
  readonly word: number;
  readonly share: number;
}

/**
 * What a word's tokens look at, on average, by word: the strongest first, by head.
 *
 * @param heads [H, S, S]
 */
export function seenFrom(heads: HeadWeights, words: readonly Word[], from: number): Seen[][] {
  const rows = words[from]!.tokens;
  return heads.map((weights) => {
    const shareOf = ({ tokens }: Word) =>
      rows.reduce((sum, i) => sum + tokens.reduce((all, j) => all + weights[i]![j]!, 0), 0) / rows.length;
    return words.map((word, n) => ({ word: n, share: shareOf(word) })).sort((a, b) => b.share - a.share);
  });
}

/** The places of a word, upper and lower case alike. */
export function placesOf(words: readonly Word[], wanted: string): number[] {
  const plain = (text: string) => text.normalize('NFKC').trim().toLowerCase();
  return words.flatMap(({ text }, n) => (plain(text) === plain(wanted) ? [n] : []));
}
