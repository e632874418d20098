// How many times as fast one cell is as another. On a busy machine the clock says more of the machine than of the cells: there
// processor time is compared, where it was one thread that computed.
import type { MeasuredCell } from './result';

/** Milliseconds of a call, by the clock or, on a busy machine, of the processor. */
export const timeOf = ({ time, processorTime }: MeasuredCell, busy: boolean) =>
  busy && processorTime ? processorTime : time.median;

/** True: ratios of these cells are unsure, and of processor time. */
export const isBusy = (cells: readonly MeasuredCell[]) => cells.some(({ busy }) => busy);

export function speedUp(from: MeasuredCell, to: MeasuredCell): number {
  const busy = isBusy([from, to]) && from.processorTime !== undefined && to.processorTime !== undefined;
  return timeOf(from, busy) / timeOf(to, busy);
}

/** How many times as fast; marked where one of both had less than a processor. */
export function ratioTo(first: MeasuredCell, cell: MeasuredCell): string {
  return `${isBusy([first, cell]) ? '≈' : ''}${speedUp(first, cell).toFixed(2)} ×`;
}

/** How many times as long, marked alike. */
export function timesAsLong(first: MeasuredCell, cell: MeasuredCell): string {
  return `${isBusy([first, cell]) ? '≈' : ''}${speedUp(cell, first).toFixed(2)} ×`;
}

/** What the mark means, where there is one. */
export function busyNote(cells: readonly MeasuredCell[]): string[] {
  const busy = cells.filter((cell) => cell.busy);
  if (busy.length === 0) return [];
  const least = Math.round(100 * Math.min(...busy.map(({ processorShare }) => processorShare)));
  return [
    `≈: the machine was busy, as little as ${least} % of a processor was had: ratios of processor time, where one thread computed`,
  ];
}
