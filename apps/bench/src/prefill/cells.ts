// Prefill on each backend: one causal layer, 512 wide, without a cache.
import type { BackendName } from '../backends/backend-name';
import type { TimeLimit } from '../matrix/measure-cells';
import type { CellAxes } from '../matrix/result';

const layer = 'width-512';

/** Plain JavaScript takes seconds for the longest, which is left out. */
export function prefillCells(backends: readonly BackendName[], lengths: readonly number[]): CellAxes[] {
  return lengths.flatMap((tokens) =>
    backends
      .filter((backend) => backend !== 'cpu' || tokens < 512)
      .map((backend) => ({
        ...{ layer, variant: 'multi-head', position: 'none', kernel: 'best', cache: 'none', backend },
        ...{ phase: 'prefill' as const, tokens, batch: 1 },
      })),
  );
}

/** Enough for a median where a run takes milliseconds. */
export const prefillSamples: TimeLimit = { seconds: 4, least: 3, most: 15 };
