// Whether other heads make up for one that is silenced: the loss without it, without more of them, and once what is left has learned.

import { kernelsHere } from '../model/ways';
import { marksAt, writeNumber } from '../page/chart';
import { chartSvg } from '../page/line-chart';
import { stackedSvg } from '../page/stacked-svg';
import { count } from '../print/format-number';
import { alignWithin } from '../print/table';
import { headName, strongestHeads } from './head-name';
import { headScoresSvg } from './head-scores-svg';
import type { Section } from './section';
import {
  measureSilencing,
  type Retrained,
  retrain,
  rowsFor,
  type Silencing,
  whyNotRetrained,
} from './silencing';

/** Nats a token: a head that costs less means nothing to the model. */
const nothing = 0.01;
const training = { steps: 48, windows: { batch: 4, length: 64 }, seed: 3 };

const nats = (x: number) => x.toFixed(3);
const signed = (x: number) => `${x < 0 ? '−' : '+'}${nats(Math.abs(x))}`;

export const silencedHeads: Section = {
  name: 'silenced',
  title: 'What the model loses without its heads',
  async measure({ decoder, layers, headsPerLayer }, progress) {
    if (!decoder) return { reason: 'An encoder predicts no token: it has no loss to lose by.' };
    const kernel = (await kernelsHere()).at(-1)!;
    const rows = rowsFor(decoder, layers * headsPerLayer);
    const onPass = (done: number, of: number) => progress.advance(done, of);
    const found = await measureSilencing(decoder, rows, { kernel, onPass });
    const reason = whyNotRetrained(decoder);
    const settings = { ...training, rows, kernel, onStep: onPass };
    const retrained = reason === undefined ? retrain(decoder, found, settings) : undefined;
    return {
      json: { ...found, ...(retrained ? { training, retrained } : { reason }) },
      svg: draw(found, headsPerLayer),
      lines: (width) => [
        ...aloneLines(found, headsPerLayer),
        '',
        'One after another, those that cost least alone first:',
        '',
        ...alignWithin(width, curveRows(found), { right: [0, 1, 2, 3], kept: 1 }),
        '',
        ...(retrained ? retrainedLines(retrained, width) : [reason!]),
      ],
    };
  },
};

function aloneLines({ tokens, whole, heads }: Silencing, headsPerLayer: number): string[] {
  const rises = heads.map(({ loss }) => loss - whole);
  const written = (places: readonly number[]) =>
    places.map((head) => `${headName(head, headsPerLayer)} ${signed(rises[head]!)}`).join(', ');
  const idle = rises.filter((rise) => Math.abs(rise) < nothing).length;
  const better = rises.filter((rise) => rise <= -nothing).length;
  return [
    `Loss in nats a token, on ${tokens} tokens: ${nats(whole)} with all heads (silenced as Michel et al. 2019 do).`,
    idle > 0
      ? `Alone, ${idle} of ${heads.length} heads change it by less than ${nothing}: they mean nothing here.`
      : `Alone, each of ${heads.length} heads changes it by ${nothing} or more.`,
    ...(better > 0 ? [`Without any one of ${better} heads it is less.`] : []),
    `Those that cost most: ${written(strongestHeads(rises, 5))}`,
  ];
}

/** Beside what heads cost together stands the sum of what each costs alone: less, where others made up for each. */
function curveRows({ whole, heads, inTurn, greedily }: Silencing): string[][] {
  const alone = heads.map(({ loss }) => loss - whole).sort((a, b) => a - b);
  const sum = (count: number) => alone.slice(0, count).reduce((total, rise) => total + rise, 0);
  return [
    ['silenced', 'sum of each alone', 'together', ...(greedily ? ['greedily chosen'] : [])],
    ...inTurn.map(({ silenced, loss }) => [
      `${silenced}`,
      signed(sum(silenced)),
      signed(loss - whole),
      ...(greedily ? [signed(greedily[silenced - 1]!.loss - whole)] : []),
    ]),
  ];
}

function retrainedLines(retrained: readonly Retrained[], width: number): string[] {
  return [
    `After ${training.steps} steps of training of what is left, in nats a token:`,
    '',
    ...alignWithin(
      width,
      [
        ['silenced', 'before', 'after'],
        ...retrained.map(({ name, before, after }) => [name, nats(before), nats(after)]),
      ],
      { right: [1, 2], kept: 1 },
    ),
  ];
}

function draw({ whole, heads, inTurn, greedily }: Silencing, headsPerLayer: number): string {
  const rises = heads.map(({ loss }) => Math.max(0, loss - whole));
  const start = [0, whole] as const;
  const series = [
    {
      name: 'by cost alone',
      marks: marksAt([start, ...inTurn.map(({ silenced, loss }) => [silenced, loss] as const)]),
    },
    ...(greedily
      ? [
          {
            name: 'greedily',
            marks: marksAt([start, ...greedily.map(({ loss }, n) => [n + 1, loss] as const)]),
          },
        ]
      : []),
  ];
  return stackedSvg([
    headScoresSvg({
      title: 'What the model loses without a head',
      unit: 'nats a token',
      headsPerLayer,
      scores: { 'silenced alone': rises },
    }),
    chartSvg({
      description: 'Loss as heads are silenced one after another',
      x: { name: 'heads silenced', write: count },
      y: { name: 'nats a token', write: writeNumber },
      series,
    }),
  ]);
}
