// What the heads of one layer see in one text, as lines.
import { printable, textHeadMaps } from '@polyhead/inspect';
import { UsageError } from '../command-line/errors';
import type { Terminal } from '../command-line/terminal';
import { percent } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { ReadText } from './reader';
import { leastNamed, placesOf, seenFrom, strongest, type Word, wordsOf } from './words';

export function mapLines(
  { text, pieces, leftOut, heads }: ReadText,
  layer: number,
  terminal: Terminal,
): string[] {
  const maps = textHeadMaps(heads, { ...terminal, queries: pieces.map((piece) => piece.text) });
  const title = `What the heads of layer ${layer} see in “${printable(text)}”`;
  return [
    shorten(title, terminal.width),
    'Each row is a token that looks, each column a token it looks at; a row sums to 1.',
    ...(maps.drawn.keys < pieces.length
      ? [`The first ${maps.drawn.keys} of ${pieces.length} tokens are drawn.`]
      : []),
    ...(leftOut.length > 0 ? [leftOutLine(leftOut)] : []),
    '',
    ...maps.lines,
  ];
}

export const leftOutLine = (leftOut: readonly string[]) =>
  `Left out, not in the model's vocabulary: ${shorten(printable(leftOut.join(' ')), 40)}`;

/**
 * The strongest keys of a word in each head, in words: a table for each place of it.
 *
 * @throws UsageError where the text has no such word, naming those it has
 */
export function fromLines({ heads, pieces }: ReadText, wanted: string, width: number): string[] {
  const words = wordsOf(pieces);
  return requiredPlaces(words, wanted).flatMap((from, n, all) => {
    const nth = all.length > 1 ? `, the ${n + 1}. of ${all.length}` : '';
    const rows = seenFrom(heads, words, from).map((seen, h) => [
      `head ${h + 1}`,
      ...Array.from({ length: Math.min(strongest, words.length) }, (_, k) => {
        const { word, share } = seen[k]!;
        return share < leastNamed ? '' : `${printable(words[word]!.text)} ${percent(share)}`;
      }),
    ]);
    const head = ['', 'strongest', ...Array.from({ length: rows[0]!.length - 2 }, () => 'then')];
    return [
      '',
      `From “${printable(words[from]!.text)}”${nth}, the words it looks at, with their share`,
      ...alignWithin(width, [head, ...rows], { right: [] }),
    ];
  });
}

export function requiredPlaces(words: readonly Word[], wanted: string): number[] {
  const places = placesOf(words, wanted);
  if (places.length > 0) return places;
  const known = shorten(printable([...new Set(words.map(({ text }) => text))].join(' ')), 200);
  throw new UsageError(
    `--from: “${shorten(printable(wanted), 40)}” is no word of the text, whose words are: ${known}`,
  );
}

function shorten(text: string, width: number): string {
  const letters = [...text];
  return letters.length <= width ? text : `${letters.slice(0, width - 1).join('')}…`;
}
