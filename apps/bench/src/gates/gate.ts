// What is promised of two contestants of a contest, and whether it holds.

/**
 * How two times, in milliseconds, make the number that a bound is set for: how many times as fast ours is, or which share
 * of a limit it reaches; how many times as long it takes, or which share of the time; how much longer.
 */
export type Measure = 'speed' | 'share' | 'time' | 'time share' | 'more';

export interface Gate {
  /** Which of ours. */
  readonly ours: string;
  readonly peer: string;
  /** Which operations of the peer; all that take part, unless they are given. */
  readonly ops?: readonly string[];
  readonly measure: Measure;
  readonly bound?: number;
  /** What would be better still. */
  readonly aim?: number;
  /** Flash itself must have run, and not what stands behind it. */
  readonly byFlash?: boolean;
}

/** Skipped: the peer does not take part. Absent: ours does not. */
export type Verdict = 'holds' | 'missed' | 'skipped' | 'absent' | 'wrong' | 'no bound';

interface Meaning {
  ratio(ours: number, peer: number): number;
  readonly bestIs: 'high' | 'low';
  show(ratio: number): string;
}

const times = (x: number) => `${Number(x.toFixed(2))} ×`;
const percent = (x: number) => `${Number((100 * x).toFixed(1))} %`;
const milliseconds = (x: number) => `${Number(x.toFixed(2))} ms`;

const meanings: Readonly<Record<Measure, Meaning>> = {
  speed: { ratio: (ours, peer) => peer / ours, bestIs: 'high', show: times },
  share: { ratio: (ours, peer) => peer / ours, bestIs: 'high', show: percent },
  time: { ratio: (ours, peer) => ours / peer, bestIs: 'low', show: times },
  'time share': { ratio: (ours, peer) => ours / peer, bestIs: 'low', show: percent },
  more: { ratio: (ours, peer) => ours - peer, bestIs: 'low', show: milliseconds },
};

export function ratioOf(measure: Measure, ours: number, peer: number): number {
  return meanings[measure].ratio(ours, peer);
}

export const showRatio = (measure: Measure, ratio: number) => meanings[measure].show(ratio);

/** `≥ 3.5 ×`: at least as many times as fast. `≤ 1.6 ×`: at most as many times the time. */
export function showBound(measure: Measure, bound: number): string {
  const { bestIs, show } = meanings[measure];
  return `${bestIs === 'high' ? '≥' : '≤'} ${show(bound)}`;
}

export function reaches(measure: Measure, ratio: number, bound: number): boolean {
  return meanings[measure].bestIs === 'high' ? ratio >= bound : ratio <= bound;
}
