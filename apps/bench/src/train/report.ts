// A result of `bench train` as lines: tables, and what they say of grouped heads.
import { count } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { TrainResult } from './result';
import {
  type CandidateSummary,
  type Difference,
  type PooledSummary,
  pooledSummaries,
  positionSummaries,
  type Statistic,
  variantSummaries,
} from './summary';

type Cells = readonly (readonly string[])[];

/** Seconds as people say them. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

export function trainLines(result: TrainResult, width: number): string[] {
  const { settings, runs, candidates, seeds, complete, seconds } = result;
  const wanted = candidates.length * seeds.length;
  const table = (cells: Cells) => alignWithin(width, cells, { right: rightColumns(cells) });
  return [
    `${runs.length} of ${wanted} decoders trained, ${settings.steps} steps each, in ${duration(seconds)}${complete ? '' : ': not all'}`,
    '',
    'Variants, with rotary positions',
    ...table(candidateCells(variantSummaries(result), 'variant')),
    '',
    ...answers(result),
    '',
    'Position methods, with grouped heads',
    ...table(candidateCells(positionSummaries(result), 'position')),
    '',
    'Multi-head weights pooled, and trained on',
    ...table(pooledCells(pooledSummaries(result))),
    '',
    ...pooledAnswers(result),
    '',
    ...result.method,
  ];
}

/** All but names. */
const rightColumns = (cells: Cells) => (cells[0] ?? []).map((_, column) => column).slice(1);

export function candidateCells(rows: readonly CandidateSummary[], by: 'variant' | 'position'): string[][] {
  return [
    [by, 'parameters', 'cache bytes a token', 'held-out bits a byte', 'difference', 'time of a step'],
    ...rows.map((row) => [
      row[by],
      count(row.parameters),
      count(row.cacheBytesPerToken),
      statistic(row.heldOut),
      row.difference ? difference(row.difference) : '',
      row.stepRatio === undefined ? '' : `${row.stepRatio.toFixed(2)} ×`,
    ]),
  ];
}

export function pooledCells(rows: readonly PooledSummary[]): string[][] {
  return [
    ['pooled into', 'before', 'after pooling', 'trained on', 'difference then'],
    ...rows.map((row) => [
      row.variant,
      statistic(row.before),
      statistic(row.pooled),
      statistic(row.trainedOn),
      difference(row.difference),
    ]),
  ];
}

/** Bits a byte, and the standard deviation over seeds. */
const statistic = ({ mean, spread }: Statistic) =>
  mean.toFixed(3) + (spread === undefined ? '' : ` ± ${spread.toFixed(3)}`);

function difference({ mean, spread, isBeyondSpread, seeds }: Difference): string {
  const sign = mean < 0 ? '−' : '+';
  const number = `${sign}${Math.abs(mean).toFixed(3)}`;
  if (spread === undefined) return `${number}, one seed`;
  const few = seeds < 3 ? `, ${seeds} seeds` : '';
  return `${number} ± ${spread.toFixed(3)}${few}${isBeyondSpread ? '' : ', within the spread'}`;
}

/** "Grouped-query attention maintains quality": what this run says of it, sentence by sentence. */
export function answers(result: TrainResult): string[] {
  const [base, ...others] = variantSummaries(result);
  if (!base) return [];
  const { steps } = result.settings;
  return others.map(({ variant, cacheBytesPerToken, parameters, difference: change, heldOut }) => {
    const cache = cacheBytesPerToken / base.cacheBytesPerToken;
    const what = `${variant} keeps ${share(cache)} of the cache and ${share(parameters / base.parameters)} of the parameters`;
    if (!change) return `${what}: no seed has both it and ${base.variant}.`;
    const { mean, spread, isBeyondSpread, seeds } = change;
    const moved = `${Math.abs(mean).toFixed(3)} bits a byte (${share(Math.abs(mean) / heldOut.mean, 1)}) ${mean < 0 ? 'less' : 'more'} than ${base.variant} after ${steps} steps`;
    if (spread === undefined) return `${what}; ${moved}, of one seed: whether that is chance is not known.`;
    const verdict = isBeyondSpread
      ? 'all of them agree, and it is beyond the spread'
      : 'within the spread, so that no difference is shown';
    return `${what}; ${moved}, ± ${spread.toFixed(3)} over ${seeds} seeds: ${verdict}.`;
  });
}

/** What pooling keeps, and what a twentieth of the steps brings back. */
export function pooledAnswers({ uptraining, settings }: TrainResult): string[] {
  return pooledSummaries({ uptraining }).map(({ variant, before, pooled, trainedOn, difference: change }) => {
    const lost = pooled.mean - before.mean;
    const back = (pooled.mean - trainedOn.mean) / lost;
    const regained = lost > 0 ? `, of which ${settings.uptrainingSteps} steps bring ${share(back)} back` : '';
    return `${variant}: pooling costs ${lost.toFixed(3)} bits a byte${regained}. Beside multi-head weights that were trained on as long: ${difference(change)}.`;
  });
}

const share = (part: number, digits = 0) => `${(100 * part).toFixed(digits)} %`;
