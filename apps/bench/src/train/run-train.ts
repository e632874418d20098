// `bench train`: decoders that differ in one choice, trained on the same batches, and what each has learned.
import { availableParallelism } from 'node:os';
import { chooseBackend } from '../backends/backend';
import type { Outlet } from '../command-line/outlet';
import { readEnvironment } from '../measure/environment';
import { type Candidate, chooseCandidates, nameOf, reference } from './candidates';
import { earlierResult, keep } from './kept';
import { duration, trainLines } from './report';
import { placeOf, type TrainResult, trainFormat, trainVersion } from './result';
import { trainAll } from './schedule';
import { methodOf, settingsOf } from './settings';
import { timeSteps } from './speed';

export interface TrainOptions {
  readonly quick: boolean;
  /** Names of variants and position methods. Default: all but the optional ones. */
  readonly only?: readonly string[];
  /** Of each decoder. */
  readonly steps: number;
  /** How many: 1, 2, … */
  readonly seeds: number;
  /** Only time steps, beside what is kept. */
  readonly speedOnly: boolean;
  readonly processes?: number;
  /** Absolute path: gone on from, where it holds the same settings. */
  readonly json?: string;
}

export async function runTrain(options: TrainOptions, outlet: Outlet): Promise<TrainResult> {
  const { quick, json, seeds: howMany, speedOnly } = options;
  const { progress } = outlet;
  await chooseBackend('wasm');
  const settings = settingsOf(options);
  const earlier = json === undefined ? undefined : earlierResult(json, { settings, reference });
  const chosen = chooseCandidates(options.only);
  const seeds = Array.from({ length: Math.max(howMany, ...(earlier?.seeds ?? [])) }, (_, n) => n + 1);
  const candidates = distinct([...chosen, ...(earlier?.candidates ?? [])]);
  let result = begin(options, { settings, candidates, seeds, earlier });
  const known = new Set(result.runs.map(placeOf));
  // Seed by seed, so that what was interrupted compares all candidates.
  const tasks = seeds
    .slice(0, howMany)
    .flatMap((seed) => chosen.map((candidate) => ({ ...candidate, seed, settings })))
    .filter((task) => !known.has(placeOf(task)));
  const [start, before, all] = [performance.now(), result.seconds, known.size + tasks.length];
  const elapsed = () => (performance.now() - start) / 1000;
  const update = (change: Partial<TrainResult>) => {
    result = { ...result, ...change, seconds: before + elapsed() };
    if (json !== undefined) keep(json, result);
  };
  if (!speedOnly && tasks.length > 0) {
    let steps = { done: 0, total: 1 };
    const left = () => (elapsed() / Math.max(1, steps.done)) * (steps.total - steps.done);
    const time = () => `${duration(elapsed())} elapsed, about ${duration(left())} left`;
    progress.stage(`training ${tasks.length} of ${all} decoders`);
    await trainAll(tasks, options.processes ?? Math.min(2, availableParallelism()), {
      onSteps(done, total) {
        steps = { done, total };
        progress.advance(done, total, time());
      },
      onTrained({ run, uptraining }) {
        const runs = sorted([...result.runs, run], candidates);
        update({ runs, uptraining: [...result.uptraining, ...uptraining] });
        progress.stage(`trained ${runs.length} of ${all} decoders: ${placeOf(run)}; ${time()}`);
      },
    });
  }
  const trained = new Set(result.runs.map(placeOf));
  const isDone = seeds.every((seed) => candidates.every((one) => trained.has(placeOf({ ...one, seed }))));
  progress.stage('timing steps of training, decoder beside decoder');
  const speed = await timeSteps(chosen, {
    windows: settings,
    turns: quick ? 3 : 21,
    onTurn: progress.advance,
  });
  const timed = new Set(speed.map(nameOf));
  const others = (earlier?.speed ?? []).filter((row) => !timed.has(nameOf(row)));
  update({ complete: isDone, speed: [...speed, ...others] });
  outlet.print(trainLines(result, outlet.terminal.width));
  return result;
}

interface Plan extends Pick<TrainResult, 'settings' | 'candidates' | 'seeds'> {
  readonly earlier: TrainResult | undefined;
}

function begin(options: TrainOptions, { settings, candidates, seeds, earlier }: Plan): TrainResult {
  const { cpu, cores, tfjs, node, commit } = readEnvironment();
  const { quick, steps, only } = options;
  return {
    format: trainFormat,
    version: trainVersion,
    command: [
      'bench train',
      ...(quick ? ['--quick'] : []),
      `--steps ${steps} --seeds ${seeds.length}`,
      ...(only ? [`--only ${only}`] : []),
    ].join(' '),
    begun: earlier?.begun ?? new Date().toISOString(),
    seconds: earlier?.seconds ?? 0,
    machine: { cpu, cores },
    versions: { tfjs, node, ...(commit !== undefined && { commit }) },
    method: methodOf(settings),
    ...{ settings, reference, candidates, seeds },
    runs: earlier?.runs ?? [],
    uptraining: earlier?.uptraining ?? [],
    ...(earlier?.speed && { speed: earlier.speed }),
    complete: false,
  };
}

const distinct = (candidates: readonly Candidate[]) => [
  ...new Map(candidates.map((one) => [nameOf(one), one])).values(),
];

/** Candidate by candidate, in whatever order they ended. */
function sorted(runs: TrainResult['runs'], candidates: TrainResult['candidates']): TrainResult['runs'] {
  const order = candidates.map(nameOf);
  const rank = (run: TrainResult['runs'][number]) => 1000 * order.indexOf(nameOf(run)) + run.seed;
  return runs.sort((a, b) => rank(a) - rank(b));
}
