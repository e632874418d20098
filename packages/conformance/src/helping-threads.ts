// Threads of a kernel under a test's hand.
import { vi } from 'vitest';
import { cell } from '../../core/src/threads/worker-code';

/** How a number that threads share is changed. */
export type CellChange = (cells: Int32Array, index: number, value: number) => number;

/**
 * Of the next pass the caller takes its first unit only when the others have computed all.
 *
 * @returns tells how many units there were
 */
export function leaveToHelpers(): () => number {
  const subtract: CellChange = Atomics.sub;
  let units: number | undefined;
  const takeLater: CellChange = (cells, index, value) => {
    units ??= awaitHelpers(cells);
    return subtract(cells, index, value);
  };
  vi.spyOn(Atomics, 'sub').mockImplementation(takeLater as never);
  return () => units ?? 0;
}

/** Waits until others have computed all units. */
function awaitHelpers(cells: Int32Array): number {
  const units = Atomics.load(cells, cell.units);
  for (;;) {
    const done = Atomics.load(cells, cell.done);
    if (done === units) return units;
    if (Atomics.wait(cells, cell.done, done, 10_000) === 'timed-out')
      throw new Error(`${done} of ${units} units`);
  }
}
