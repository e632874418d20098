// The picture of each guide, drawn from what its run exports.
import { svgHeadMaps } from '@polyhead/inspect';
import { type Line, lineChart } from './line-chart';

type Map2 = readonly (readonly number[])[];
type Maps = readonly Map2[];

/** Draws what the module of the guide of this name exports. */
export const pictures: Readonly<Record<string, (exported: never) => string>> = {
  'one-head-or-several': ({ pairs, one, two }: { pairs: number[][]; one: Answered; two: Answered }) => {
    const rows = [0, 1, 2, 3].map((n) => pairs.findIndex(([a, b], at) => at >= 8 * n && a !== b));
    const ofHead = ({ weights }: Answered, head: number) => rows.map((b) => weights[b]![head]![0]!);
    const queries = rows.map((b) => pairs[b]!.join(' and '));
    const maps = [ofHead(one, 0), ofHead(two, 0), ofHead(two, 1)];
    const title = 'Four questions for two of eight names';
    const drawn = svgHeadMaps(maps, { queries, keys: [...'01234567'], title, columns: 3 });
    return named(drawn, ['the only head', 'one of two', 'the other']);
  },
  'why-the-root': ({ sizes, plain, scaled }: Scaled) => {
    const points = (rows: Scaled['plain'], of: 'top' | 'asleep') =>
      rows.map((row, n) => [sizes[n]!, row[of]] as const);
    return lineChart({
      title: 'Without √d the largest weight takes all, and rows fall asleep',
      x: { name: 'numbers in a head, d', log: 2 },
      y: { name: 'share', domain: [0, 1] },
      lines: [
        { name: 'largest weight', points: points(plain, 'top') },
        { name: 'rows asleep', points: points(plain, 'asleep') },
        { name: 'largest, with √d', points: points(scaled, 'top'), isDashed: true },
        { name: 'asleep, with √d', points: points(scaled, 'asleep'), isDashed: true },
      ],
    });
  },
  'what-a-mask-does': ({ maps, masks, words }: { maps: Maps; masks: object; words: string[] }) =>
    named(
      svgHeadMaps(maps, { queries: words, title: 'Even attention under four masks', columns: 2 }),
      Object.keys(masks),
    ),
  'what-heads-learn': ({ blocks, text }: { blocks: Maps[]; text: string }) => {
    const length = 24;
    const cut = blocks[1]!.map((head) => head.slice(0, length).map((row) => row.slice(0, length)));
    return svgHeadMaps(cut, {
      queries: [...text.slice(0, length)],
      title: 'The second block of a decoder of bytes',
      columns: 2,
      values: false,
    });
  },
  'from-multi-head-to-grouped': ({ original, pooled }: Grouped) =>
    lineChart({
      title: 'Eight heads of keys and values, pooled, and trained on',
      x: { name: 'steps', domain: [0, 10 * (original.length + pooled[0]!.shares.length - 2)] },
      y: { name: 'right answers', domain: [0, 1] },
      lines: [
        { name: '8, from the start', points: original.map((share, n) => [10 * n, share] as const) },
        ...pooled.map(({ numKeyValueHeads, shares }) => ({
          name: `pooled to ${numKeyValueHeads}`,
          points: shares.map((share, n) => [10 * (n + original.length - 1), share] as const),
        })),
      ],
    }),
  'positions-and-length': ({ results }: { results: { name: string; far?: number[] }[] }) =>
    lineChart({
      title: 'Trained on 16 tokens, asked on 64',
      x: { name: 'place in the text', domain: [0, 64] },
      y: { name: 'right answers', domain: [0, 1] },
      lines: results.flatMap(({ name, far }): Line[] =>
        far ? [{ name, points: far.map((share, n) => [8 * n + 4, share] as const) }] : [],
      ),
    }),
  'flash-the-same-numbers': ({ held }: { held: { S: number; composed: number; flash: number }[] }) =>
    lineChart({
      title: 'What a call holds beside its inputs: one head of 8 numbers',
      x: { name: 'tokens', log: 2 },
      y: { name: 'bytes', log: 2, domain: [2 ** 14, 2 ** 26], write: bytes },
      lines: [
        { name: 'composed', points: held.map(({ S, composed }) => [S, composed] as const) },
        { name: 'flash', points: held.map(({ S, flash }) => [S, flash] as const) },
      ],
    }),
  'what-caching-costs': ({ bytes: rows, lengths }: Caching) =>
    lineChart({
      title: 'Keys and values of a layer as in Llama 2 7B, and its weights',
      x: { name: 'tokens', log: 2, write: (tokens) => `${tokens / 1024}k` },
      y: { name: 'bytes', log: 2, domain: [2 ** 19, 2 ** 33], write: bytes },
      lines: rows.flatMap(({ numKeyValueHeads: heads, weights, cache }) => [
        {
          name: `${heads} key/value head${heads > 1 ? 's' : ''}`,
          points: cache.map((size, n) => [lengths[n]!, size] as const),
        },
        ...(heads === 1
          ? []
          : [
              {
                name: `weights, ${heads}`,
                points: lengths.map((S) => [S, weights] as const),
                isDashed: true,
              },
            ]),
      ]),
    }),
  'from-a-formula-to-a-kernel': ({
    pictures: { weights, gradient },
  }: {
    pictures: Record<'weights' | 'gradient', Map2>;
  }) => {
    const largest = Math.max(...gradient.flat());
    const shares = gradient.map((row) => row.map((x) => x / largest));
    const queries = weights.map((_, n) => `${n}`);
    return named(svgHeadMaps([weights, shares], { queries, title: 'Forward and backward', columns: 2 }), [
      'weights',
      'gradient of scores',
    ]);
  },
};

interface Answered {
  readonly weights: readonly Maps[]; // [question][head][1][8]
}

interface Scaled {
  readonly sizes: readonly number[];
  readonly plain: readonly Record<'top' | 'asleep', number>[];
  readonly scaled: Scaled['plain'];
}

interface Grouped {
  readonly original: readonly number[];
  readonly pooled: readonly { readonly numKeyValueHeads: number; readonly shares: readonly number[] }[];
}

interface Caching {
  readonly lengths: readonly number[];
  readonly bytes: readonly {
    readonly numKeyValueHeads: number;
    readonly weights: number;
    readonly cache: readonly number[];
  }[];
}

/** The panels of `svgHeadMaps` under other names than "head 1". */
const named = (svg: string, names: readonly string[]) =>
  names.reduce((drawn, name, n) => drawn.replace(`>head ${n + 1}<`, `>${name}<`), svg);

function bytes(size: number): string {
  if (size >= 2 ** 30) return `${Math.round(size / 2 ** 30)} GiB`;
  if (size >= 2 ** 20) return `${Math.round(size / 2 ** 20)} MiB`;
  return `${Math.round(size / 2 ** 10)} KiB`;
}
