// Attention of one text, or of two, as a page.
import { headStatistics } from '@polyhead/inspect';
import { headMapsFigure, sinkOf } from '../page/head-maps';
import { html } from '../page/html';
import { pageText } from '../page/page';
import { table } from '../page/table';
import { percent } from '../print/format-number';
import type { ReadText } from './reader';
import { leftOutLine, requiredPlaces } from './text-maps';
import { leastNamed, seenFrom, strongest, wordsOf } from './words';

export interface AttentionView {
  /** Of the model. */
  readonly title: string;
  readonly layer: number;
  readonly reads: readonly ReadText[];
  /** A word whose strongest keys are shown. */
  readonly from?: string;
}

export function attentionPage(view: AttentionView): string {
  const { title, layer, reads } = view;
  return pageText({
    title: `Layer ${layer} of ${title}`,
    lead: leadOf(view),
    sections: reads.map((read, n) => ({
      id: `text-${n + 1}`,
      title: `${reads.length > 1 ? `${n + 1}. ` : ''}“${read.text}”`,
      body: html`${fromTables(n, view)}${headMapsFigure({
        title: `Layer ${layer}${reads.length > 1 ? `, text ${n + 1}` : ''}`,
        caption: html`Each row is a token that looks, each column a token it looks at; a row sums to 1. ${read.leftOut.length > 0 ? `${leftOutLine(read.leftOut)}.` : ''}`,
        pieces: read.pieces,
        heads: read.heads,
      })}`,
    })),
    footer: html`<p>Drawn by <code>bench attention</code>. Entropy: 0 where each token looks at one key. Distance: of what a token looks at. Sink: a key that takes half of a head’s weight or more. Patterns of fewer than 13 tokens can look like something by chance.</p>`,
  });
}

/** What is seen at once: the word that was asked about, or where heads rest. */
function leadOf({ reads, from, layer }: AttentionView): string {
  const [first] = reads as [ReadText];
  if (from !== undefined) {
    return reads
      .map((read) => {
        const words = wordsOf(read.pieces);
        const [place] = requiredPlaces(words, from);
        const first = seenFrom(read.heads, words, place!).map(([seen], h) => ({ ...seen!, h }));
        const { word, share, h } = first.reduce((most, one) => (one.share > most.share ? one : most));
        return `“${words[place!]!.text}” looks most at “${words[word]!.text}”, with ${percent(share)} of head ${h + 1}`;
      })
      .join('; in the second text ')
      .concat('.');
  }
  const sinks = headStatistics(first.heads).flatMap((head, h) => {
    const sink = sinkOf(head, first.pieces);
    return sink === undefined ? [] : [`head ${h + 1} on ${sink}`];
  });
  if (sinks.length === 0) return `No head of layer ${layer} rests on one token: each looks at several.`;
  const rest = sinks.length > 3 ? `, and ${sinks.length - 3} more likewise` : '';
  return `In layer ${layer}, ${sinks.length} of ${first.heads.length} heads rest on one token: ${sinks.slice(0, 3).join('; ')}${rest}.`;
}

function fromTables(number: number, { from, reads }: AttentionView) {
  if (from === undefined) return undefined;
  const { pieces, heads } = reads[number]!;
  const words = wordsOf(pieces);
  return requiredPlaces(words, from).map((place, n, all) => {
    const nth = all.length > 1 ? `, the ${n + 1}. of ${all.length}` : '';
    const caption = `What “${words[place]!.text}”${nth} looks at${reads.length > 1 ? ` in the ${number === 0 ? 'first' : 'second'} text` : ''}`;
    const rows = seenFrom(heads, words, place).map((seen, h) => [
      `head ${h + 1}`,
      ...seen
        .slice(0, strongest)
        .flatMap(({ word, share }) =>
          share < leastNamed ? ['', ''] : [words[word]!.text, { text: percent(share), value: share }],
        ),
    ]);
    const columns = Math.min(strongest, words.length);
    const names = Array.from({ length: columns }, (_, k) => [k === 0 ? 'strongest' : 'then', 'share']);
    const head = ['head', ...names.flat()];
    return html`<h3>${caption}</h3>${table({ caption, head, rows })}`;
  });
}
