// Contestants of one work, checked and then timed in turn.
import { setTimeout } from 'node:timers/promises';
import { firstLine } from '../../../../scripts/backends/errors';
import { allowedError } from '../measure/relative-error';
import { takeTurns } from '../measure/take-turns';
import type { Turn } from '../measure/timed';
import { type Absence, type Contestant, type Entry, isAbsent } from './contestant';
import type { Gate } from './gate';

export interface Contest {
  readonly work: string;
  readonly runs: number;
  readonly gates: readonly Gate[];
  /** Whether one with several threads takes part. */
  readonly threaded?: boolean;
  /** @param threads for each contestant that can have more than one */
  enter(threads: number): Promise<Entered>;
}

export interface Entered {
  readonly entries: readonly Entry[];
  /** What the contestants share. */
  dispose?(): void;
}

/** Times in milliseconds. */
export interface Timing {
  readonly contestant: Contestant;
  readonly turns: readonly Turn[];
}

export interface WrongAnswer {
  readonly contestant: Contestant;
  readonly error: number;
}

export interface ContestResult {
  readonly timings: readonly Timing[];
  readonly wrong: readonly WrongAnswer[];
  readonly absences: readonly Absence[];
}

export interface Rules {
  readonly runs: number;
  readonly threads: number;
  readonly onRun?: (done: number, total: number) => void;
}

/** Beside the call that is checked. */
const untimed = 1;
/** Threads that wait for more work keep their processor busy for a while. */
const restMs = 20;

/** Who computes wrong numbers, or none, is not timed. */
export async function holdContest(contest: Contest, { runs, threads, onRun }: Rules): Promise<ContestResult> {
  const { entries, dispose } = await contest.enter(threads);
  const contestants = entries.filter((entry) => !isAbsent(entry)) as Contestant[];
  const rests = threads > 1 || contest.threaded;
  try {
    const { right, wrong, failed } = await checkAll(contestants);
    const jobs = right.map((contestant) => async () => {
      if (rests) await setTimeout(restMs);
      return contestant.turn();
    });
    const turns = await takeTurns(jobs, untimed + runs, onRun);
    const timings = right.map((contestant, n) => ({ contestant, turns: turns[n]!.slice(untimed) }));
    return { timings, wrong, absences: [...entries.filter(isAbsent), ...failed] };
  } finally {
    for (const contestant of contestants) await contestant.dispose();
    dispose?.();
  }
}

async function checkAll(contestants: readonly Contestant[]) {
  const right: Contestant[] = [];
  const wrong: WrongAnswer[] = [];
  const failed: Absence[] = [];
  for (const contestant of contestants) {
    const { peer, op } = contestant;
    try {
      const error = (await contestant.error?.()) ?? 0;
      if (error <= allowedError) right.push(contestant);
      else wrong.push({ contestant, error });
    } catch (failure) {
      failed.push({ peer, op, reason: `it fails: ${firstLine(failure)}` });
    }
  }
  return { right, wrong, failed };
}
