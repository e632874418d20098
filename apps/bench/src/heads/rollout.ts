// Whether weights of all layers, rolled out, find the word that people would, and those of one layer alone.
import {
  attentionRollout,
  type HeadWeights,
  type PairScores,
  pairScores,
  svgHeadMaps,
} from '@polyhead/inspect';
import { percent } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { Section } from './section';
import { readWordPairs } from './word-pairs';

/** The mean over heads, as if it were one. */
const meanHead = (heads: HeadWeights): HeadWeights[number] =>
  heads[0]!.map((row, i) =>
    row.map((_, j) => heads.reduce((sum, rows) => sum + rows[i]![j]!, 0) / heads.length),
  );

export const rollout: Section = {
  name: 'rollout',
  title: 'Where tokens come from, through all layers',
  async measure(model, progress) {
    const pairs = await readWordPairs(model, progress);
    const rolled = pairs.map(({ layers }) => attentionRollout(layers));
    const scores = pairScores(
      pairs.map((pair, n) => ({ ...pair, heads: [rolled[n]!.at(-1)!, meanHead(pair.layers.at(-1)!)] })),
    );
    const shareOf = ({ shares, anyway }: PairScores, head: number) =>
      `${percent(shares[head]!)}, ${percent(anyway[head]!)}`;
    const rows = scores.map((one) => [
      one.kind,
      percent(one.chance),
      percent(one.place.share),
      shareOf(one, 0),
      shareOf(one, 1),
    ]);
    const [{ text, pieces }] = pairs as [(typeof pairs)[number]];
    return {
      json: {
        kinds: scores.map(({ kind, chance, place, shares, anyway }) => ({
          ...{ kind, chance, place },
          rollout: { finds: shares[0], anyway: anyway[0] },
          lastLayer: { finds: shares[1], anyway: anyway[1] },
        })),
      },
      svg: svgHeadMaps([rolled[0]!.at(-1)!, meanHead(pairs[0]!.layers.at(-1)!)], {
        title: text,
        names: ['rollout', 'mean of the last layer'],
        queries: pieces,
        values: false,
      }),
      lines: (width) => [
        'Attention rollout of all layers, half of each token going around attention, and the mean of the heads of the last layer:',
        'the share of labelled words that have most weight, and the share that has it anyway, from other words.',
        '',
        ...alignWithin(width, [['kind', 'chance', 'place', 'rollout', 'last layer'], ...rows], {
          right: [1, 2, 3, 4],
        }),
      ],
    };
  },
};
