// Cells that are compared: each is checked, and then they take turns, so that whatever else the machine does falls on all of
// them alike.
import { countParameters } from '@polyhead/core';
import { registries as all, named, type Registries } from '../axes/registries';
import { WrongResultError } from '../command-line/errors';
import { printable } from '../command-line/json-object';
import { spreadOf } from '../measure/quantile';
import { takeTurns } from '../measure/take-turns';
import { leastShare, shareOf, type Turn } from '../measure/timed';
import type { Peaks } from './peaks';
import { costCallOf, flopOf, newTokens } from './phases';
import type { AbsentCell, CellAxes, MeasuredCell } from './result';
import { openWorkbench, type Prepared } from './workbench';

export interface Turns {
  readonly cells: readonly CellAxes[];
  /** Calls of each cell that are timed. */
  readonly samples: number | TimeLimit;
}

/** As many calls as fit the seconds, all cells together, within these bounds. */
export interface TimeLimit {
  readonly seconds: number;
  readonly least: number;
  readonly most: number;
}

export interface Measurement {
  readonly cells: readonly MeasuredCell[];
  readonly absent: readonly AbsentCell[];
}

export interface Circumstances {
  /** What backends were measured to reach. */
  readonly peaks?: Peaks;
  /** Tests bring their own. */
  readonly registries?: Registries;
  readonly onRun?: (done: number, total: number) => void;
}

/** A cell that is wrong is not timed; one that cannot be is told with its reason. */
export async function measureCells(
  { cells, samples }: Turns,
  { peaks = {}, registries = all, onRun }: Circumstances = {},
): Promise<Measurement> {
  const bench = openWorkbench(registries);
  const prepared: Prepared[] = [];
  const absent: AbsentCell[] = [];
  try {
    for (const cell of cells) {
      try {
        prepared.push(await bench.prepare(cell));
      } catch (error) {
        absent.push(absentCell(cell, error));
      }
    }
    const jobs = prepared.map(
      ({ turn }) =>
        () =>
          turn(),
    );
    const untimed = await takeTurns(jobs, 1);
    const runs = typeof samples === 'number' ? samples : runsWithin(samples, untimed.flat());
    const turns = await takeTurns(jobs, runs, onRun);
    return {
      cells: prepared.map((each, n) => summarize(each, turns[n]!, { peaks, kernels: registries.kernels })),
      absent,
    };
  } finally {
    for (const each of prepared) each.dispose();
    bench.dispose();
  }
}

/** @throws WrongResultError where a cell has wrong numbers */
export function refuseWrong({ absent }: Pick<Measurement, 'absent'>): void {
  const wrong = absent.filter(({ why }) => why === 'wrong').map(({ reason }) => reason);
  if (wrong.length > 0) throw new WrongResultError(wrong.join('\n'));
}

function absentCell(cell: CellAxes, error: unknown): AbsentCell {
  const message = error instanceof Error ? error.message : String(error);
  const reason = printable(message.replace(/\s*\n\s*/g, '; ')).slice(0, 2000);
  return { ...cell, why: error instanceof WrongResultError ? 'wrong' : 'refused', reason };
}

function runsWithin({ seconds, least, most }: TimeLimit, round: readonly Turn[]): number {
  const ms = round.reduce((sum, turn) => sum + turn.ms, 0);
  return Math.max(least, Math.min(most, Math.floor((1000 * seconds) / ms)));
}

function summarize(
  prepared: Prepared,
  turns: readonly Turn[],
  { peaks, kernels }: { readonly peaks: Peaks; readonly kernels: Registries['kernels'] },
): MeasuredCell {
  const { cell, variant, shape, attention, ran, first, peakBytes, error, storageError } = prepared;
  const time = spreadOf(turns.map(({ ms }) => ms));
  const cacheBytes = prepared.finish();
  const cost = variant.cost(shape.config, costCallOf(cell));
  const perSecond = (amount: number) => (1000 * amount) / time.median;
  const flop = flopOf(cost, cell.phase);
  const [gflops, gigabytesPerSecond] = [perSecond(flop) / 1e9, perSecond(cost.bytesMoved) / 1e9];
  const peak = peaks[cell.backend];
  const processorShare = shareOf(turns);
  const { threads = 1 } = named(kernels, cell.kernel)!;
  const oneThread = threads === 1 && cell.backend !== 'tensorflow';
  return {
    ...cell,
    keyValueHeads: attention.cacheShape(1).heads,
    parameters: countParameters(variant.variableShapes(shape.config)),
    ...(oneThread && processorTimeOf(turns)),
    ...{ ran, first, time, tokensPerSecond: perSecond(newTokens(cell)), flop, gflops },
    // The bytes of a forward pass: a backward pass moves others.
    ...(cell.phase !== 'training' && { bytesMoved: cost.bytesMoved, gigabytesPerSecond }),
    ...(peak && { shareOfPeak: gflops / peak.gflops }),
    ...(peak &&
      cell.phase !== 'training' && { shareOfBandwidth: gigabytesPerSecond / peak.gigabytesPerSecond }),
    peakBytes,
    ...(cacheBytes && { cacheBytes }),
    error,
    ...(storageError !== undefined && { storageError }),
    processorShare,
    busy: processorShare < leastShare,
  };
}

function processorTimeOf(turns: readonly Turn[]): Pick<MeasuredCell, 'processorTime' | 'processorSpread'> {
  const { samples: _, median, ...processorSpread } = spreadOf(turns.map(({ cpuMs }) => cpuMs));
  return { processorTime: median, processorSpread };
}
