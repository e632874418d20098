// What the committed result says, on the page of the guide: written by `bench train --write`, and held to it by a test.
import { fileURLToPath } from 'node:url';
import { marksAt, type Series, writeNumber } from '../page/chart';
import { chartSvg } from '../page/line-chart';
import { count } from '../print/format-number';
import { nameOf } from './candidates';
import { answers, candidateCells, pooledAnswers, pooledCells } from './report';
import type { TrainResult } from './result';
import { pooledSummaries, positionSummaries, variantSummaries } from './summary';

export const committedResult = fileURLToPath(new URL('../../results/train.json', import.meta.url));
export const pagePath = 'docs/guide/trained-decoders.md';
export const picturePath = 'docs/guide/images/trained-decoders.svg';

const begin = '<!-- result, written by `npx pnpm bench train --write` -->';
const end = '<!-- end of result -->';

/** @throws where the page has no place for it */
export function withResult(page: string, result: TrainResult): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`${pagePath} must hold ${begin} and ${end}`);
  const parts = [
    sizeLine(result),
    '## Fewer key/value heads',
    table(candidateCells(variantSummaries(result), 'variant')),
    list(answers(result)),
    '## Heads pooled after training',
    table(pooledCells(pooledSummaries(result))),
    list(pooledAnswers(result)),
    '## Positions',
    table(candidateCells(positionSummaries(result), 'position')),
    '## How it was done',
    list(result.method),
  ];
  return `${before}${begin}\n\n${parts.join('\n\n')}\n\n${end}${after}`;
}

/** Of a curve, so that they do not cover each other. */
const mostDots = 25;

/** Losses of the training text, means over seeds. */
export function pictureOf(result: TrainResult): string {
  const { runs, settings } = result;
  const series = variantSummaries(result).map((one): Series => {
    const curves = runs.filter((run) => nameOf(run) === nameOf(one)).map(({ curve }) => curve);
    const means = curves[0]!.map((_, n) => {
      const sum = curves.reduce((total, curve) => total + curve[n]!, 0);
      return [Math.min((n + 1) * settings.stepsAPoint, settings.steps), sum / curves.length] as const;
    });
    const apart = Math.ceil(means.length / mostDots);
    return { name: one.variant, marks: marksAt(means.filter((_, n) => (n + 1) % apart === 0)) };
  });
  return chartSvg({
    description: 'One decoder with fewer and fewer key/value heads',
    x: { name: 'steps', write: count },
    y: { name: 'bits a byte', write: writeNumber },
    series,
  });
}

function sizeLine({ runs, candidates, seeds, settings, complete }: TrainResult): string {
  const of = `${candidates.length} decoders from ${seeds.length} seeds each, ${settings.steps} steps`;
  return complete
    ? `${of}.`
    : `${of}; ${runs.length} of these ${candidates.length * seeds.length} runs are done.`;
}

const list = (lines: readonly string[]) => lines.map((line) => `- ${line}`).join('\n');

function table([head, ...rows]: readonly (readonly string[])[]): string {
  const widths = head!.map((_, column) => Math.max(...[head!, ...rows].map((row) => row[column]!.length), 3));
  const line = (row: readonly string[]) =>
    `| ${row.map((text, column) => (column === 0 ? text.padEnd(widths[0]!) : text.padStart(widths[column]!))).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(head!), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}
