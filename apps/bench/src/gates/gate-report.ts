// The results of `bench gates` as lines that a person reads.

import { leastShare, shareOf } from '../measure/timed';
import { percent } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { ContestResult } from './contest';
import type { Absence } from './contestant';
import { showBound, showRatio } from './gate';
import type { GateRow, Side } from './gate-rows';

/** The columns that hold numbers, and how many of the others every part of a table shows. */
const layout = { right: [2, 3, 4, 5], kept: 2 };
const head = ['ours', 'against', 'ours ms', 'its ms', 'ratio', 'CPU', 'bound (aim)', ''];

/** The rows of one contest. */
export function contestLines(rows: readonly GateRow[], runs: number, width: number): string[] {
  const cells = rows.map((row) => {
    const { measure, ratio, cpuRatio, ours, against } = row;
    return [
      nameOf(ours),
      against.peer === ours.peer ? nameOf(against) : `${against.peer}${against.op ? `: ${against.op}` : ''}`,
      timesOf(ours),
      timesOf(against),
      ratio === undefined ? '' : showRatio(measure, ratio),
      cpuRatio === undefined ? '' : showRatio(measure, cpuRatio),
      promiseOf(row),
      verdictOf(row),
    ];
  });
  const title = `${rows[0]?.work ?? ''}: median (best) of ${runs} runs in turn`;
  return [title, ...alignWithin(width, [head, ...cells], layout)];
}

/** What the columns mean, and who took part. */
export function legendLines(rows: readonly GateRow[]): string[] {
  const versions = rows.flatMap(({ against: { peer, version } }) =>
    version === undefined ? [] : [`${peer} ${version}`],
  );
  return [
    'ratio: how many times as fast as the other; ≤: how many times the time, or how much more; %: the share of a limit',
    'CPU: the same of processor time',
    ...(versions.length > 0 ? [`against ${[...new Set(versions)].join(', ')}`] : []),
  ];
}

/** A note, where contestants waited for a processor: then the ratios of processor time say more. */
export function busyLines({ timings }: ContestResult): string[] {
  const turns = timings.flatMap((timing) => timing.turns);
  const share = shareOf(turns);
  if (!(share < leastShare)) return [];
  return [`the machine was busy: ${percent(share)} of a processor was had, so the ratios of CPU say more`];
}

export function absenceLines(absences: readonly Absence[]): string[] {
  const lines = absences.map(({ peer, op, reason }) => `absent: ${peer}${op ? `, ${op}` : ''}: ${reason}`);
  return [...new Set(lines)];
}

function nameOf({ op, kernel }: Side): string {
  const stoodIn = kernel !== undefined && !kernel.startsWith(op!.split(',')[0]!);
  return stoodIn ? `${op} (${kernel} ran)` : op!;
}

function timesOf({ median, best }: Side): string {
  return median === undefined ? '' : `${milliseconds(median)} (${milliseconds(best!)})`;
}

function promiseOf({ measure, bound, aim }: GateRow): string {
  const shownAim = aim === undefined ? '' : `(${showRatio(measure, aim)})`;
  return `${bound === undefined ? '' : showBound(measure, bound)} ${shownAim}`.trim();
}

function verdictOf({ verdict, aimReached }: GateRow): string {
  if (verdict === 'no bound')
    return aimReached === undefined ? '' : `aim ${aimReached ? 'reached' : 'missed'}`;
  return verdict === 'holds' && aimReached ? 'aim reached' : verdict;
}

function milliseconds(ms: number): string {
  if (ms < 1) return ms.toFixed(3);
  return ms < 10 ? ms.toFixed(2) : ms.toFixed(0);
}
