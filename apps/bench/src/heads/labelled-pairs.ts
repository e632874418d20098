// Which heads find the word that people would: subjects of verbs, names of pronouns, the neighbor that gives a word its sense.
import { type PairScores, pairScores } from '@polyhead/inspect';
import type { Reader } from '../attention/reader';
import type { Progress } from '../command-line/progress';
import { percent } from '../print/format-number';
import { alignWithin } from '../print/table';
import { headName } from './head-name';
import { headScoresSvg } from './head-scores-svg';
import { type KnownKind, measureKinds } from './known-kinds';
import type { Section } from './section';
import { readWordPairs } from './word-pairs';

export interface HeadMeaning {
  readonly kinds: readonly PairScores[];
  /** What each head does: a known kind, and kinds of pairs that it finds; empty where it means nothing. */
  readonly meanings: readonly (readonly string[])[];
}

export async function measureMeaning(model: Reader, progress: Progress): Promise<HeadMeaning> {
  const kinds = pairScores(await readWordPairs(model, progress));
  const known = (await measureKinds(model)).names;
  const meanings = known.map((name: KnownKind | null, head) => [
    ...(name === null ? [] : [name]),
    ...kinds.filter(({ means }) => means[head]).map(({ kind }) => kind),
  ]);
  return { kinds, meanings };
}

/** The best head of a kind, in words: of several that find as many the first. */
function bestOf({ best, shares, anyway, luck, means }: PairScores, headsPerLayer: number): string[] {
  const likely = luck[best]! < 0.001 ? '< 0.001' : luck[best]!.toFixed(3);
  const verdict = means[best] ? 'means something' : 'means nothing';
  return [headName(best, headsPerLayer), percent(shares[best]!), percent(anyway[best]!), likely, verdict];
}

export const labelledPairs: Section = {
  name: 'pairs',
  title: 'Which heads find the word that people would',
  async measure(model, progress) {
    const { headsPerLayer } = model;
    const { kinds, meanings } = await measureMeaning(model, progress);
    const pairs = kinds.reduce((sum, kind) => sum + kind.pairs, 0);
    const rows = kinds.map((scores) => [
      scores.kind,
      `${scores.pairs}`,
      percent(scores.chance),
      percent(scores.place.share),
      ...bestOf(scores, headsPerLayer),
      `${scores.means.filter(Boolean).length}`,
    ]);
    const head = [
      'kind',
      'pairs',
      'chance',
      'place',
      'best head',
      'finds',
      'anyway',
      'luck',
      'it',
      'such heads',
    ];
    const nothing = meanings.filter((all) => all.length === 0).length;
    return {
      json: { pairs, kinds, meanings },
      svg: headScoresSvg({
        title: 'Share of labelled words that heads find',
        unit: 'share',
        headsPerLayer,
        scores: Object.fromEntries(kinds.map(({ kind, shares }) => [kind, shares])),
      }),
      lines: (width) => [
        `Share of ${pairs} labelled words that a head finds, looking more at them than at any other word; by chance; by the best`,
        'fixed place, counted from the start or from the word that looks; and anyway, from other words. A head means something',
        'that finds more than that place, twice as many as anyway, and more than the best of all heads by luck in one case of 20.',
        '',
        ...alignWithin(width, [head, ...rows], { right: [1, 2, 3, 5, 6, 7, 9] }),
        '',
        `${nothing} of ${meanings.length} heads mean nothing that is measured here: neither these pairs nor what heads are known for.`,
      ],
    };
  },
};
