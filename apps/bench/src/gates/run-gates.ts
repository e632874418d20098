// `bench gates`: the speeds that Polyhead promises, each as a ratio to a peer in one interleaved run.
import '@tensorflow/tfjs'; // its gradients
import { chooseBackend } from '../backends/backend';
import { UsageError, WrongResultError } from '../command-line/errors';
import type { Outlet } from '../command-line/outlet';
import { writeTo } from '../command-line/user-path';
import { readEnvironment } from '../measure/environment';
import { environmentLines } from '../print/environment-lines';
import { type Contest, type ContestResult, holdContest } from './contest';
import type { Absence } from './contestant';
import { cacheContests } from './contests/caches';
import { composedContests } from './contests/composed';
import { decodeContests } from './contests/decode';
import { layerContests } from './contests/layer';
import { modelContests } from './contests/model';
import { optionContests } from './contests/options';
import { prefillContests } from './contests/prefill';
import { productContests } from './contests/products';
import { trainingContests } from './contests/training';
import { absenceLines, busyLines, contestLines, legendLines } from './gate-report';
import { type GateRow, gateRows } from './gate-rows';
import { allowRelaxedSimd } from './relaxed-simd';

export interface GateOptions {
  /** Only contests whose work holds this text. */
  readonly only?: string;
  /** A third of the runs. */
  readonly quick: boolean;
  readonly threads: number;
  readonly json?: string; // absolute path
}

const contests: readonly Contest[] = [
  ...prefillContests,
  ...decodeContests,
  ...cacheContests,
  ...trainingContests,
  ...optionContests,
  ...productContests,
  ...layerContests,
  ...modelContests,
  ...composedContests,
];

/** @throws WrongResultError where a contestant computes wrong numbers: it is not timed */
export async function runGates(options: GateOptions, outlet: Outlet): Promise<void> {
  const { quick, threads, json } = options;
  const chosen = chooseContests(options);
  const opted = allowRelaxedSimd(); // before anything looks for it
  const backend = await chooseBackend('wasm');
  const environment = readEnvironment();
  const noBounds = `bounds are for 1 thread: none with ${threads}`;
  outlet.print([
    ...environmentLines(backend, environment),
    'our code runs from bundles, as applications have it',
    ...(opted ? [opted] : []),
    ...(threads > 1 ? [noBounds] : []),
  ]);
  const rows: GateRow[] = [];
  const absences: Absence[] = [];
  const wrong: string[] = [];
  for (const [n, contest] of chosen.entries()) {
    const { work } = contest;
    outlet.progress.stage(`contest ${n + 1} of ${chosen.length}: ${work}`);
    const runs = quick ? Math.ceil(contest.runs / 3) : contest.runs;
    const outcome = await holdContest(contest, { runs, threads, onRun: outlet.progress.advance });
    const ofContest = gateRows(contest, outcome, threads === 1);
    outlet.print(['', ...contestLines(ofContest, runs, outlet.terminal.width), ...busyLines(outcome)]);
    rows.push(...ofContest);
    absences.push(...outcome.absences);
    wrong.push(...wrongLines(work, outcome));
  }
  const absent = absenceLines(absences);
  outlet.print(['', ...legendLines(rows), ...absent]);
  if (json !== undefined) {
    writeTo(json, `${JSON.stringify({ environment, threads, rows, absent }, null, 2)}\n`);
  }
  if (wrong.length > 0) throw new WrongResultError(wrong.join('\n'));
}

function chooseContests({ only }: GateOptions): readonly Contest[] {
  const text = only?.toLowerCase() ?? '';
  const chosen = contests.filter(({ work }) => work.toLowerCase().includes(text));
  if (chosen.length > 0) return chosen;
  const works = contests.map(({ work }) => work);
  throw new UsageError(`--only ${only}: no work is named so; there are: ${works.join('; ')}`);
}

function wrongLines(work: string, { wrong }: ContestResult): string[] {
  return wrong.map(
    ({ contestant: { peer, op }, error }) =>
      `${work}: ${peer}, ${op} is off by ${error.toExponential(1)} of its largest number: it is not timed`,
  );
}
