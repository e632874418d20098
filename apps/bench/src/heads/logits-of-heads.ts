// Which heads write the next token: their shares of its logit.
import { kernelsHere } from '../model/ways';
import { alignWithin } from '../print/table';
import { headName } from './head-name';
import { headScoresSvg } from './head-scores-svg';
import { type LogitShares, measureLogits, type PartShare } from './logit-shares';
import type { Section } from './section';

/** One whose answer is a name read before (Wang et al. 2022, 2211.00593), one whose answer is a word begun before. */
const prompts = [
  'When Mary and John went to the store, John gave a drink to',
  'There she blows! A whale! There she b',
];
const shown = 5;

export const logitsOfHeads: Section = {
  name: 'logits',
  title: 'What heads add to the logit of the next token',
  async measure({ decoder, headsPerLayer }, progress) {
    if (!decoder) return { reason: 'An encoder predicts no token: it has no logits.' };
    const kernel = (await kernelsHere()).at(-1)!;
    const found: LogitShares[] = [];
    for (const prompt of prompts) {
      found.push(measureLogits(decoder, prompt, kernel));
      progress.advance(found.length, prompts.length);
    }
    return {
      json: { prompts: found },
      svg: headScoresSvg({
        title: 'What heads add to the logit of the next token',
        unit: 'added to the logit',
        headsPerLayer,
        scores: Object.fromEntries(found.flatMap((one) => panels(one))),
      }),
      lines: (width) => [
        'Direct logit attribution (nostalgebraist 2020; Elhage et al. 2021): the size that the last norm divides by stays, and',
        'what a part adds to all tokens alike is left out. A part that works through later layers counts as theirs.',
        ...found.flatMap((one) => ['', ...linesOf(one, { headsPerLayer, width })]),
      ],
    };
  },
};

type HeadShare = PartShare & { readonly part: { readonly kind: 'head' } };

const headsOf = ({ parts }: LogitShares) => parts.filter((one): one is HeadShare => one.part.kind === 'head');

function panels(one: LogitShares): [string, number[]][] {
  const added = headsOf(one).map((share) => share.added);
  return [
    [`raise “${one.next}” after “…${one.prompt.slice(-16)}”`, added.map((x) => Math.max(0, x))],
    ['lower it', added.map((x) => Math.max(0, -x))],
  ];
}

function linesOf(
  one: LogitShares,
  { headsPerLayer, width }: { readonly headsPerLayer: number; readonly width: number },
): string[] {
  const sum = (kind: PartShare['part']['kind']) =>
    one.parts.reduce((total, { part, added }) => total + (part.kind === kind ? added : 0), 0);
  const number = (x: number) => x.toFixed(2).replace('-', '−');
  const heads = headsOf(one).map((share, n) => ({ ...share, name: headName(n, headsPerLayer) }));
  const sorted = [...heads].sort((a, b) => b.added - a.added);
  const rows = [...sorted.slice(0, shown), sorted.at(-1)!].map(({ name, added, raises }) => [
    name,
    number(added),
    raises.map((token) => `“${token}”`).join(' '),
  ]);
  const others = [
    ['embedding', sum('embedding')],
    ['heads', sum('head')],
    ['feed-forward layers', sum('feedForward')],
    ['biases', sum('bias') + sum('constant')],
  ] as const;
  return [
    `“${one.prompt}” → “${one.next}”, logit ${number(one.logit)} above the mean: ${others
      .filter(([, added]) => added !== 0)
      .map(([name, added]) => `${name} ${number(added)}`)
      .join(', ')}`,
    '',
    ...alignWithin(width, [['head', 'adds', 'raises most'], ...rows], { right: [1], kept: 1 }),
  ];
}
