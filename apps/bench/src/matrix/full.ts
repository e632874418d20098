// `bench full`: each axis of the matrix alone, and chosen pairs, in half an hour; it goes on where it was interrupted.
import { registries as all, type Registries } from '../axes/registries';
import { type Backend, chooseBackend, startBackend, startFrom } from '../backends/backend';
import type { BackendName } from '../backends/backend-name';
import { WrongResultError } from '../command-line/errors';
import type { Outlet } from '../command-line/outlet';
import { writeTo } from '../command-line/user-path';
import { allowRelaxedSimd } from '../gates/relaxed-simd';
import { readEnvironment } from '../measure/environment';
import { environmentLines } from '../print/environment-lines';
import { broughtOf } from '../report/brought-of';
import { studyPublishedModels } from '../report/published-studies';
import { reportPage } from '../report/report-page';
import { cellLines } from './cell-table';
import { type Comparison, fullPlan, weightOf } from './full-plan';
import { keep, keptOf, readKept } from './kept-result';
import { type Measurement, measureCells } from './measure-cells';
import { measurePeak, type Peak } from './peaks';
import type { MatrixResult } from './result';
import { beginRun } from './run';
import { barOf } from './time-left';

export interface FullOptions {
  readonly backend?: BackendName;
  /** Nothing of an earlier run is kept. */
  readonly fresh: boolean;
  readonly json: string; // absolute path
}

const command = 'bench full';

/** Where the report goes. */
export const pageBeside = (json: string) => `${json.replace(/\.json$/, '')}.html`;

/** Tests bring their own. */
interface Parts {
  readonly plan: typeof fullPlan;
  readonly registries: Registries;
  readonly peakOf: typeof measurePeak;
  /** What the report shows beside the matrix. */
  readonly see: (outlet: Outlet) => Promise<object>;
}

const usual: Parts = { plan: fullPlan, registries: all, peakOf: measurePeak, see: studyPublishedModels };

/** @throws WrongResultError, at its end, where a cell has wrong numbers: it was not timed */
export async function runFull(
  { fresh, json, ...options }: FullOptions,
  outlet: Outlet,
  { plan, registries, peakOf, see }: Parts = usual,
): Promise<MatrixResult> {
  const { progress, print, terminal } = outlet;
  const { result: kept, reason } = fresh ? {} : readKept(json, command);
  const opted = allowRelaxedSimd(); // before anything looks for it
  const main = await chooseBackend(options.backend);
  const backends = await startAll(main);
  print([
    ...environmentLines(main, readEnvironment()),
    ...(opted ? [opted] : []),
    ...(reason ? [`measured anew: ${reason}`] : []),
    `what is done is kept in ${json}: after Ctrl-C the same command goes on`,
  ]);
  const run = beginRun(command, registries);
  const peaks = await peaksOf(backends, kept, peakOf);
  const comparisons = plan(
    backends.map(({ name }) => name),
    registries,
  );
  const weights = comparisons.map((comparison) => weightOf(comparison, registries));
  const done: Measurement[] = [];
  const before = kept?.seconds ?? 0;
  const bar = barOf(weights);
  const resultOf = (complete: boolean): MatrixResult => {
    const findings = {
      cells: done.flatMap(({ cells }) => cells),
      absent: done.flatMap(({ absent }) => absent),
    };
    const result = run.result({ backends, peaks, ...findings }, { complete });
    return { ...result, begun: kept?.begun ?? result.begun, seconds: before + result.seconds };
  };
  for (const [n, comparison] of comparisons.entries()) {
    const earlier = keptOf(comparison, kept);
    const measured = earlier ?? (await measure(comparison));
    if (earlier) bar.skip(n);
    done.push(measured);
    print(['', ...cellLines(comparison.title, measured, terminal.width)]);
    keep(json, resultOf(false));

    async function measure({ title, cells, samples }: Comparison): Promise<Measurement> {
      progress.stage(bar.text(n, 0, title));
      const measured = await measureCells(
        { cells, samples },
        {
          ...{ peaks, registries },
          onRun: (run, runs) => progress.update?.(bar.text(n, run / runs, title)),
        },
      );
      const named = <T>(list: readonly T[]) => list.map((cell) => ({ ...cell, turns: title }));
      return { cells: named(measured.cells), absent: named(measured.absent) };
    }
  }
  const measured = resultOf(true);
  const brought = broughtOf(measured);
  const result = { ...measured, ...(brought && { brought }), ...(await see(outlet)) };
  progress.clear();
  keep(json, result);
  const page = pageBeside(json);
  writeTo(page, reportPage(result));
  print(['', `${result.cells.length} cells, ${result.absent.length} absent: ${json}, ${page}`]);
  const wrong = result.absent.filter(({ why }) => why === 'wrong');
  if (wrong.length > 0) throw new WrongResultError(wrong.map((cell) => cell.reason).join('\n'));
  return result;
}

/** The chosen one first, and then those that are compared with it. */
async function startAll(main: Backend): Promise<Backend[]> {
  const names = await startFrom(main.name);
  const others: Backend[] = [];
  for (const name of names.slice(1)) {
    const start = await startBackend(name);
    if ('device' in start) others.push({ name, device: start.device, passedOver: [] });
  }
  await startBackend(main.name);
  return [main, ...others];
}

/** Those of an earlier part of the run hold. */
async function peaksOf(
  backends: readonly Backend[],
  kept: MatrixResult | undefined,
  peakOf: typeof measurePeak,
) {
  const peaks: Record<string, Peak> = {};
  for (const { name } of backends) {
    await startBackend(name);
    const peak = kept?.backends.find((one) => one.name === name)?.peak ?? (await peakOf(name));
    if (peak) peaks[name] = peak;
  }
  await startBackend(backends[0]!.name);
  return peaks;
}
