// Maps of heads on a page: the pictures of `@polyhead/inspect`, what each head does, and what each word sees, in words.
import { type HeadStatistics, type HeadWeights, headStatistics, svgHeadMaps } from '@polyhead/inspect';
import { leastNamed, type Piece, seenFrom, strongest, wordsOf } from '../attention/words';
import { percent } from '../print/format-number';
import { type Html, html, picture } from './html';
import { foldedTable, table } from './table';

/** What a head does, in numbers and by name. */
export type HeadRole = Pick<HeadStatistics, 'entropy' | 'distance' | 'strongestColumn'> & {
  readonly pattern: string;
};

export interface PageMaps {
  /** Of the picture. */
  readonly title: string;
  readonly caption: Html;
  readonly pieces: readonly Piece[];
  readonly heads: HeadWeights;
  /** What each does. Default: computed from the weights. */
  readonly statistics?: readonly HeadRole[];
  /** Numbers of heads, where they are not all: from 1. */
  readonly numbers?: readonly number[];
  /** One more column, a share by head. */
  readonly more?: { readonly name: string; readonly shares: readonly number[] };
}

/** A key that takes this share of a head is one that attention rests on. */
const leastSink = 0.5;

export function headMapsFigure(maps: PageMaps): Html {
  const { title, caption, pieces, heads } = maps;
  const queries = pieces.map(({ text }) => text);
  const draw = (columns: number) => picture(svgHeadMaps(heads, { queries, title, columns, values: false }));
  return html`<figure><figcaption>${caption}</figcaption>
<div class="wide"><div class="map">${draw(columnsFor(heads.length, queries))}</div></div>
<div class="narrow"><div class="map">${draw(1)}</div></div>
${rolesTable(maps)}
${foldedTable(wordsTable(maps), 'What each word looks at, as a table')}</figure>`;
}

/** As many beside each other as a page has room for, in rows of about one length. */
function columnsFor(heads: number, queries: readonly string[]): number {
  const longest = Math.min(16, Math.max(...queries.map((text) => [...text].length)));
  const [page, scale, axis, letter, cell] = [950, 112, 42, 7.3, 14]; // pictures shrink by a fifth at most
  const fitting = Math.max(1, Math.floor((page - scale) / (axis + letter * longest + cell * queries.length)));
  return Math.ceil(heads / Math.ceil(heads / fitting));
}

/** The token that a head rests on, in words; undefined where it rests on none. */
export function sinkOf(
  { strongestColumn }: Pick<HeadRole, 'strongestColumn'>,
  pieces: readonly Piece[],
): string | undefined {
  const { key, share } = strongestColumn;
  if (!(share >= leastSink)) return undefined;
  return `${key === 0 ? 'the first token, ' : ''}“${pieces[key]!.text}”, ${percent(share)}`;
}

const nameOf = ({ numbers }: PageMaps, h: number) => `head ${numbers?.[h] ?? h + 1}`;

function rolesTable(maps: PageMaps): Html {
  const { heads, pieces, more, title } = maps;
  const { statistics = headStatistics(heads) } = maps;
  const rows = statistics.map((role, h) => [
    nameOf(maps, h),
    role.pattern,
    sinkOf(role, pieces) ?? 'none',
    { text: role.entropy.toFixed(2), value: role.entropy },
    { text: role.distance.toFixed(1), value: role.distance },
    ...(more ? [{ text: percent(more.shares[h]!), value: more.shares[h]! }] : []),
  ]);
  const head = ['head', 'pattern here', 'sink', 'entropy, nats', 'distance, tokens'];
  return table({
    caption: `What each head does: ${title}`,
    head: [...head, ...(more ? [more.name] : [])],
    rows,
  });
}

function wordsTable(maps: PageMaps) {
  const { heads, pieces, title } = maps;
  const words = wordsOf(pieces);
  const rows = words.map((word, from) => [
    word.text,
    ...seenFrom(heads, words, from).map((seen) =>
      seen
        .slice(0, strongest)
        .filter(({ share }) => share >= leastNamed)
        .map((one) => `${words[one.word]!.text} ${percent(one.share)}`)
        .join(', '),
    ),
  ]);
  const head = ['word', ...heads.map((_, h) => `${nameOf(maps, h)} looks at`)];
  return { caption: `What each word looks at most, with its share: ${title}`, head, rows };
}
