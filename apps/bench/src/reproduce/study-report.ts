// What was found in the published layers, as lines that a person reads.
import { formatBytes } from '../print/byte-size';
import { count, percent } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { ModelStudy } from './model-study';

export function variantLines({ sentences, tokens, layers }: ModelStudy, width: number): string[] {
  const rows = layers.flatMap(({ variants }, layer) =>
    variants.map(({ keyValueHeads, similarity, parameters, cacheBytesPerToken }) => [
      `${layer + 1}`,
      `${keyValueHeads}`,
      similarity.mean.toFixed(3),
      similarity.p10.toFixed(3),
      count(parameters),
      formatBytes(cacheBytesPerToken),
    ]),
  );
  const head = ['layer', 'K/V heads', 'similarity', 'lowest tenth', 'parameters', 'cache a token'];
  return [
    'The model with fewer key/value heads: each is the mean of those it replaces, and nothing is trained',
    ...alignWithin(width, [head, ...rows], { right: [1, 2, 3, 4, 5] }),
    `similarity: cosine with the published layer's output, over ${count(tokens)} tokens of ${sentences} sentences`,
  ];
}

export function headLines({ sentences, layers }: ModelStudy, width: number): string[] {
  const rows = layers.flatMap(({ heads }, layer) =>
    heads.map(({ pattern, patternShare, entropy, distance, ablation }, h) => [
      `${layer + 1}`,
      `${h + 1}`,
      `${pattern} in ${percent(patternShare)}`,
      entropy.toFixed(2),
      distance.toFixed(1),
      percent(ablation),
    ]),
  );
  const head = ['layer', 'head', 'pattern', 'entropy', 'distance', 'ablation'];
  return [
    `What each head does in ${sentences} sentences of more than 12 tokens`,
    ...alignWithin(width, [head, ...rows], { right: [3, 4, 5], kept: 2 }),
    'pattern: the most frequent; entropy in nats; distance of what a token looks at, in tokens',
    'ablation: change of the output without the head, as a share of it',
  ];
}
