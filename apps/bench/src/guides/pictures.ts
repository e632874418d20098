// The picture of each guide, drawn from what its run exports.
import { svgHeadMaps } from '@polyhead/inspect';
import { type Axis, marksAt, type Series, writeNumber, writeTokens } from '../page/chart';
import { chartSvg } from '../page/line-chart';
import { formatBytes } from '../print/byte-size';
import { count } from '../print/format-number';

type Map2 = readonly (readonly number[])[];
type Maps = readonly Map2[];

const shareAxis = (name: string): Axis => ({ name, include: [0, 1], write: writeNumber });

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
    const marks = (rows: Scaled['plain'], of: 'top' | 'asleep') =>
      marksAt(rows.map((row, n) => [sizes[n]!, row[of]] as const));
    return chartSvg({
      description: 'Without √d the largest weight takes all, and rows fall asleep',
      x: { name: 'numbers in a head, d', log: 2, write: count },
      y: shareAxis('share'),
      series: [
        { name: 'largest weight', marks: marks(plain, 'top') },
        { name: 'rows asleep', marks: marks(plain, 'asleep') },
        { name: 'largest, with √d', marks: marks(scaled, 'top'), isDashed: true, hasNoDots: true },
        { name: 'asleep, with √d', marks: marks(scaled, 'asleep'), isDashed: true, hasNoDots: true },
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
    chartSvg({
      description: 'Eight heads of keys and values, pooled, and trained on',
      x: { name: 'steps', write: count },
      y: shareAxis('right answers'),
      series: [
        { name: '8, from the start', marks: marksAt(original.map((share, n) => [10 * n, share] as const)) },
        ...pooled.map(({ numKeyValueHeads, shares }) => ({
          name: `pooled to ${numKeyValueHeads}`,
          marks: marksAt(shares.map((share, n) => [10 * (n + original.length - 1), share] as const)),
        })),
      ],
    }),
  'positions-and-length': ({ results }: { results: { name: string; far?: number[] }[] }) =>
    chartSvg({
      description: 'Trained on 16 tokens, asked on 64',
      x: { name: 'place in the text', include: [0, 64], write: count },
      y: shareAxis('right answers'),
      series: results.flatMap(({ name, far }): Series[] =>
        far ? [{ name, marks: marksAt(far.map((share, n) => [8 * n + 4, share] as const)) }] : [],
      ),
    }),
  'flash-the-same-numbers': ({ held }: { held: { S: number; composed: number; flash: number }[] }) =>
    chartSvg({
      description: 'What a call holds beside its inputs: one head of 8 numbers',
      x: { name: 'tokens', log: 2, write: writeTokens },
      y: { name: 'bytes', log: 2, write: formatBytes },
      series: [
        { name: 'composed', marks: marksAt(held.map(({ S, composed }) => [S, composed] as const)) },
        { name: 'flash', marks: marksAt(held.map(({ S, flash }) => [S, flash] as const)) },
      ],
    }),
  'what-caching-costs': ({ bytes: rows, lengths }: Caching) =>
    chartSvg({
      description: 'Keys and values of a layer as in Llama 2 7B, and its weights',
      x: { name: 'tokens', log: 2, write: writeTokens },
      y: { name: 'bytes', log: 2, write: formatBytes },
      series: rows.flatMap(({ numKeyValueHeads: heads, weights, cache }) => [
        {
          name: `${heads} key/value head${heads > 1 ? 's' : ''}`,
          marks: marksAt(cache.map((size, n) => [lengths[n]!, size] as const)),
        },
        ...(heads === 1
          ? []
          : [
              {
                name: `weights, ${heads}`,
                marks: marksAt(lengths.map((S) => [S, weights] as const)),
                isDashed: true as const,
                hasNoDots: true as const,
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
