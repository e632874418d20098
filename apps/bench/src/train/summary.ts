// What a result says of each candidate: its loss over seeds, and its difference to another, seed by seed.
import { type Candidate, nameOf } from './candidates';
import type { TrainedRun, TrainResult } from './result';

export interface Statistic {
  readonly mean: number;
  /** Standard deviation over seeds, with n − 1; absent of one seed. */
  readonly spread?: number;
  readonly seeds: number;
}

export interface Difference extends Statistic {
  /** Undefined of one seed: it cannot be told. */
  readonly isBeyondSpread?: boolean;
}

export interface CandidateSummary extends Candidate {
  readonly keyValueHeads: number;
  readonly parameters: number;
  readonly cacheBytesPerToken: number;
  readonly heldOut: Statistic;
  /** To the decoder that it is compared with; absent of that one itself, and where no seed has both. */
  readonly difference?: Difference;
  /** Processor time of a step, to the reference's. */
  readonly stepRatio?: number;
}

/** @param values of one seed each, at least one */
export function statisticOf(values: readonly number[]): Statistic {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, seeds: values.length };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, spread: Math.sqrt(squares / (values.length - 1)), seeds: values.length };
}

/** Beyond the spread: all seeds agree on the sign, and the mean is more than twice the spread. */
export function differenceOf(differences: readonly number[]): Difference {
  const statistic = statisticOf(differences);
  if (statistic.spread === undefined) return statistic;
  const agree = new Set(differences.map(Math.sign)).size === 1;
  return { ...statistic, isBeyondSpread: agree && Math.abs(statistic.mean) > 2 * statistic.spread };
}

/** Of all that share a variant, or a position method, with the first; those without a run are left out. */
export function summaries(
  { runs, speed }: Pick<TrainResult, 'runs' | 'speed'>,
  [base, ...others]: readonly Candidate[],
): CandidateSummary[] {
  if (!base) return [];
  const runsOf = (one: Candidate) => runs.filter((run) => nameOf(run) === nameOf(one));
  const bases = new Map(runsOf(base).map(({ seed, heldOut }) => [seed, heldOut]));
  return [base, ...others].flatMap((one): CandidateSummary[] => {
    const own = runsOf(one);
    const [first] = own;
    if (!first) return [];
    const differences = one === base ? [] : own.flatMap((run) => toBase(run, bases));
    const { variant, position, keyValueHeads, parameters, cacheBytesPerToken } = first;
    const time = speed?.find((row) => nameOf(row) === nameOf(one));
    return [
      {
        ...{ variant, position, keyValueHeads, parameters, cacheBytesPerToken },
        heldOut: statisticOf(own.map(({ heldOut }) => heldOut)),
        ...(differences.length > 0 && { difference: differenceOf(differences) }),
        ...(time && { stepRatio: time.ratio }),
      },
    ];
  });
}

function toBase({ seed, heldOut }: TrainedRun, bases: ReadonlyMap<number, number>): number[] {
  const base = bases.get(seed);
  return base === undefined ? [] : [heldOut - base];
}

/** Variants with the reference's positions, the reference first. */
export function variantSummaries(result: TrainResult): CandidateSummary[] {
  const { reference, candidates } = result;
  const others = candidates.filter(
    (one) => one.position === reference.position && nameOf(one) !== nameOf(reference),
  );
  return summaries(result, [reference, ...others]);
}

/** Position methods with one variant: the one that more candidates have than any other, its usual method first. */
export function positionSummaries(result: TrainResult): CandidateSummary[] {
  const { reference, candidates } = result;
  const variant = candidates.find(({ position }) => position !== reference.position)?.variant;
  if (variant === undefined) return [];
  const base = { variant, position: reference.position };
  const others = candidates.filter((one) => one.variant === variant && one.position !== reference.position);
  return summaries(result, [base, ...others]);
}

export interface PooledSummary {
  readonly variant: string;
  readonly keyValueHeads: number;
  readonly before: Statistic;
  readonly pooled: Statistic;
  readonly trainedOn: Statistic;
  /** To the reference, trained on by as many steps. */
  readonly difference: Difference;
}

export function pooledSummaries({ uptraining }: Pick<TrainResult, 'uptraining'>): PooledSummary[] {
  return [...new Set(uptraining.map(({ variant }) => variant))].map((variant) => {
    const rows = uptraining.filter((row) => row.variant === variant);
    return {
      variant,
      keyValueHeads: rows[0]!.keyValueHeads,
      before: statisticOf(rows.map(({ before }) => before)),
      pooled: statisticOf(rows.map(({ pooled }) => pooled)),
      trainedOn: statisticOf(rows.map(({ trainedOn }) => trainedOn)),
      difference: differenceOf(rows.map((row) => row.trainedOn - row.referenceTrainedOn)),
    };
  });
}
