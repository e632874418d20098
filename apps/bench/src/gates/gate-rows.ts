// What a contest says of each promise, and of every peer that nothing was promised about.
import { quantile } from '../measure/quantile';
import type { Turn } from '../measure/timed';
import type { Contest, ContestResult, Timing } from './contest';
import type { Contestant } from './contestant';
import { type Gate, type Measure, ratioOf, reaches, type Verdict } from './gate';
import { ours } from './kernel-under-test';
import { polyhead } from './peers/polyhead';
import { limitOfWasm } from './wasm-limits';

/** Times in milliseconds: the median, and the best. */
export interface Side {
  readonly peer: string;
  readonly version?: string;
  readonly op?: string;
  /** The kernel that ran. */
  readonly kernel?: string;
  readonly median?: number;
  readonly best?: number;
}

export interface GateRow {
  readonly work: string;
  readonly ours: Side;
  readonly against: Side;
  readonly measure: Measure;
  readonly ratio?: number;
  /** The same of processor time. */
  readonly cpuRatio?: number;
  readonly bound?: number;
  readonly aim?: number;
  readonly aimReached?: boolean;
  readonly verdict: Verdict;
}

/** @param bounded false: as measured with more threads than bounds are set for */
export function gateRows({ work, gates }: Contest, outcome: ContestResult, bounded = true): GateRow[] {
  const all = [...gates, ...gatesWithoutBound(gates, outcome)];
  return all.flatMap((gate) => {
    const { bound, aim, ...unbound } = gate;
    return rowsOfGate(work, bounded ? gate : unbound, outcome);
  });
}

/** Each peer's operation that no gate names, set beside flash. */
function gatesWithoutBound(gates: readonly Gate[], { timings }: ContestResult): Gate[] {
  const isNamed = ({ peer, op }: Contestant) =>
    peer === polyhead || gates.some((gate) => gate.peer === peer && (gate.ops?.includes(op) ?? true));
  const unnamed = timings.filter(({ contestant }) => !isNamed(contestant));
  return unnamed.map(({ contestant: { peer, op } }) => ({
    ours: ours.flash,
    peer,
    ops: [op],
    measure: peer === limitOfWasm ? 'share' : 'speed',
  }));
}

function rowsOfGate(work: string, gate: Gate, outcome: ContestResult): GateRow[] {
  const isPeer = ({ peer, op }: { readonly peer: string; readonly op?: string }) =>
    peer === gate.peer && (gate.ops === undefined || op === undefined || gate.ops.includes(op));
  const isOurs = ({ peer, op }: { readonly peer: string; readonly op?: string }) =>
    peer === polyhead && op === gate.ours;
  const { timings, wrong, absences } = outcome;
  const mine = timings.find(({ contestant }) => isOurs(contestant));
  const theirs = timings.filter(({ contestant }) => isPeer(contestant));
  const wrongPeers = wrong.filter(({ contestant }) => isPeer(contestant));
  const missing = absences.filter(isPeer);
  const our: Side = mine ? sideOf(mine) : { peer: polyhead, op: gate.ours };
  const noPair = (verdict: 'wrong' | 'skipped' | 'absent', against: Side): GateRow => ({
    ...promiseOf(gate),
    work,
    ours: our,
    against,
    verdict,
  });
  const wrongOurs = wrong.some(({ contestant }) => isOurs(contestant));
  return [
    ...theirs.map((their) =>
      mine ? pairRow(work, gate, [mine, their]) : noPair(wrongOurs ? 'wrong' : 'absent', sideOf(their)),
    ),
    ...wrongPeers.map(({ contestant: { peer, op } }) => noPair('wrong', { peer, op })),
    ...missing.map(({ peer, op }) => noPair('skipped', { peer, ...(op !== undefined && { op }) })),
  ];
}

function pairRow(work: string, gate: Gate, [mine, theirs]: readonly [Timing, Timing]): GateRow {
  const { measure, bound, aim, byFlash = false } = gate;
  const [our, their] = [sideOf(mine), sideOf(theirs)];
  const ratio = ratioOf(measure, our.median!, their.median!);
  const [cpu, theirCpu] = [medianOf(mine, 'cpuMs'), medianOf(theirs, 'cpuMs')];
  const holds = bound === undefined || reaches(measure, ratio, bound);
  const ran = !byFlash || our.kernel === undefined || our.kernel.startsWith('flash');
  const bounded = holds && ran ? 'holds' : 'missed';
  return {
    ...promiseOf(gate),
    work,
    ours: our,
    against: their,
    ratio,
    cpuRatio: ratioOf(measure, cpu, theirCpu),
    ...(aim !== undefined && { aimReached: reaches(measure, ratio, aim) }),
    verdict: bound === undefined ? 'no bound' : bounded,
  };
}

const promiseOf = ({ measure, bound, aim }: Gate) => ({
  measure,
  ...(bound !== undefined && { bound }),
  ...(aim !== undefined && { aim }),
});

function sideOf({ contestant, turns }: Timing): Side {
  const { peer, op, version } = contestant;
  const kernel = contestant.ranBy?.();
  return {
    peer,
    ...(version !== undefined && { version }),
    op,
    ...(kernel !== undefined && { kernel }),
    median: medianOf({ turns }, 'ms'),
    best: Math.min(...turns.map(({ ms }) => ms)),
  };
}

function medianOf({ turns }: Pick<Timing, 'turns'>, of: keyof Turn): number {
  return quantile(
    turns.map((turn) => turn[of]),
    0.5,
  );
}
