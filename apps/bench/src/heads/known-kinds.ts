// Which heads do what heads are known for: random tokens, repeated once, tell that apart.
import { seededRandom } from '@polyhead/conformance';
import { type HeadKinds, headKinds } from '@polyhead/inspect';
import type { Reader } from '../attention/reader';
import { percent } from '../print/format-number';
import { alignWithin } from '../print/table';
import { mobyDickChapters } from '../published/moby-dick';
import { headName, strongestHeads } from './head-name';
import { headScoresSvg } from './head-scores-svg';
import type { Section } from './section';

export type KnownKind = Exclude<keyof HeadKinds, 'sinkKey'>;

/** What a head of the kind does, in words. */
const kinds: Readonly<Record<KnownKind, string>> = {
  previous: 'looks at the token before',
  next: 'looks at the token after',
  itself: 'looks at the token itself',
  sameToken: 'looks at the same token elsewhere',
  induction: 'looks at what followed that token last time',
  sink: 'rests on one key, whatever the token',
};

/** From this share of its weight on, a head is called by a kind: it does that more than all else. */
const leastShare = 0.5;
const [distinct, draws] = [32, 3];

export interface KindScores {
  /** Of an even head, that sees as much. */
  readonly even: Readonly<Record<KnownKind, number>>;
  /** [layers · H] */
  readonly scores: Readonly<Record<KnownKind, readonly number[]>>;
  /** What each head is called; null where it does none of these with half of its weight. */
  readonly names: readonly (KnownKind | null)[];
}

export async function measureKinds(model: Reader): Promise<KindScores> {
  const perDraw: HeadKinds[][] = [];
  const even: HeadKinds[] = [];
  for (const ids of repeatedTokens(model)) {
    const heads = (await model.weights(ids)).flat();
    perDraw.push(headKinds(heads, ids));
    even.push(headKinds([evenRows(heads[0]!)], ids)[0]!);
  }
  const names = Object.keys(kinds) as KnownKind[];
  const table = <T>(of: (kind: KnownKind) => T) =>
    Object.fromEntries(names.map((kind) => [kind, of(kind)])) as Record<KnownKind, T>;
  const mean = (all: readonly HeadKinds[], kind: KnownKind) =>
    all.reduce((sum, one) => sum + one[kind], 0) / all.length;
  const scores = table((kind) =>
    perDraw[0]!.map((_, head) =>
      mean(
        perDraw.map((draw) => draw[head]!),
        kind,
      ),
    ),
  );
  return {
    even: table((kind) => mean(even, kind)),
    scores,
    names: perDraw[0]!.map((_, head) => {
      const [best] = strongestHeads(
        names.map((kind) => scores[kind][head]!),
        1,
      );
      const kind = names[best!]!;
      return scores[kind][head]! >= leastShare ? kind : null;
    }),
  };
}

/** Tokens that are frequent in Moby Dick, each once, in random order; and all of them again in the same order. */
function repeatedTokens({ tokenize }: Reader): number[][] {
  const text = mobyDickChapters().join(' ').replace(/\s+/g, ' ');
  const known = new Set<number>();
  for (let from = 0; known.size < 2 * distinct; from += 100)
    for (const id of tokenize(text.slice(from, from + 100)).ids) known.add(id);
  return Array.from({ length: draws }, (_, draw) => {
    const random = seededRandom(draw + 1);
    const half = [...known]
      .map((id) => ({ id, at: random() }))
      .sort((a, b) => a.at - b.at)
      .slice(0, distinct)
      .map(({ id }) => id);
    return [...half, ...half];
  });
}

/** Even over the keys that a map's rows see. */
function evenRows(rows: readonly (readonly number[])[]): number[][] {
  const isCausal = rows[0]!.every((weight, j) => j === 0 || weight === 0);
  return rows.map((row, i) => {
    const seen = isCausal ? i + 1 : row.length;
    return row.map((_, j) => Number(j < seen) / seen);
  });
}

export const knownKinds: Section = {
  name: 'kinds',
  title: 'What heads are known for',
  async measure(model) {
    const measured = await measureKinds(model);
    const { names, scores, even } = measured;
    const { headsPerLayer } = model;
    const shown = (Object.keys(kinds) as KnownKind[]).filter((kind) => !Number.isNaN(even[kind]));
    const named = (kind: KnownKind | null) => names.filter((name) => name === kind).length;
    const rows = shown.map((kind) => [
      kinds[kind],
      percent(even[kind]),
      `${named(kind)}`,
      strongestHeads(scores[kind], 3)
        .map((head) => `${headName(head, headsPerLayer)} ${percent(scores[kind][head]!)}`)
        .join(', '),
    ]);
    return {
      json: { distinct, draws, ...measured },
      svg: headScoresSvg({
        title: 'What heads are known for: share of their weight',
        unit: 'share',
        headsPerLayer,
        scores: Object.fromEntries(shown.map((kind) => [kinds[kind], scores[kind]])),
      }),
      lines: (width) => [
        `Shares of a head's weight, on ${distinct} tokens in random order and again in the same, ${draws} draws.`,
        '',
        ...alignWithin(
          width,
          [['a head that', 'even', `heads ≥ ${percent(leastShare)}`, 'the strongest'], ...rows],
          { right: [1, 2], kept: 1 },
        ),
        '',
        `${named(null)} of ${names.length} heads do none of these with half of their weight.`,
      ],
    };
  },
};
