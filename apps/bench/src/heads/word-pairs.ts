// Labelled sentences as a model reads them: which tokens look, and which words they may find.
import type { LabelledPair } from '@polyhead/inspect';
import type { Reader } from '../attention/reader';
import { wordsOf } from '../attention/words';
import type { Progress } from '../command-line/progress';
import { labelledSentences } from './labelled-sentences';

/** A sentence, its weights and its labels. */
export interface WordPair extends LabelledPair {
  readonly text: string;
  readonly pieces: readonly string[];
  /** Weights of each layer, [H, S, S]: `heads` are all of them. */
  readonly layers: readonly LabelledPair['heads'][];
}

const wordPattern = /[*_]?[\p{L}\p{N}'’-]+[*_]?/gu;

const read = new WeakMap<Reader, Promise<readonly WordPair[]>>();

/**
 * Of all sentences, which a model reads once. The first word, where heads rest, is never to be found, nor are signs, nor what a
 * causal model cannot see.
 *
 * @throws where a model reads other words than the sentence has
 */
export function readWordPairs(model: Reader, progress: Progress): Promise<readonly WordPair[]> {
  const known = read.get(model) ?? readAll(model, progress);
  read.set(model, known);
  return known;
}

async function readAll(model: Reader, progress: Progress): Promise<readonly WordPair[]> {
  const all = Object.entries(labelledSentences).flatMap(([kind, sentences]) =>
    sentences.map((sentence) => ({ kind, sentence })),
  );
  const pairs: WordPair[] = [];
  for (const { kind, sentence } of all) {
    pairs.push({ kind, ...(await readPair(model, sentence)) });
    progress.advance(pairs.length, all.length);
  }
  return pairs;
}

async function readPair(model: Reader, sentence: string): Promise<Omit<WordPair, 'kind'>> {
  const marked = sentence.match(wordPattern)!;
  const [to, from] = [/^\*/, /^_/].map((mark) => marked.findIndex((word) => mark.test(word)));
  const { text, ids, pieces } = model.tokenize(sentence.replace(/[*_]/g, ''));
  const words = wordsOf(pieces).filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
  if (words.length !== marked.length) throw new Error(`${model.title} reads other words in: ${sentence}`);
  const isCausal = model.decoder !== undefined;
  const candidates = words.filter((_, n) => n > 0 && n !== from && (!isCausal || n < from!));
  const layers = await model.weights(ids);
  return {
    text,
    pieces: pieces.map((piece) => piece.text),
    layers,
    heads: layers.flat(),
    from: words[from!]!.tokens,
    words: candidates.map(({ tokens }) => tokens),
    to: candidates.indexOf(words[to!]!),
  };
}
