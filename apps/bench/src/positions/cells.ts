// Position methods beside none: prompts of two lengths, and a step of decoding behind the longer one.
import { none } from '../axes/registries';
import type { BackendName } from '../backends/backend-name';
import type { CellAxes } from '../matrix/result';

export const positionLayer = 'width-512';

export interface PositionWork {
  /** Of prompts; the last is also how many tokens a step of decoding sees. */
  readonly lengths: readonly number[];
}

/** None first, work by work. */
export function positionCells(
  names: readonly string[],
  backend: BackendName,
  { lengths }: PositionWork,
): CellAxes[] {
  const base = { layer: positionLayer, variant: 'multi-head', kernel: 'composed', backend, batch: 1 };
  const works = [
    ...lengths.map((tokens) => ({ phase: 'prefill' as const, cache: none, tokens })),
    { phase: 'decode' as const, cache: 'static', tokens: lengths.at(-1)! },
  ];
  return works.flatMap((work) => [none, ...names].map((position) => ({ ...base, ...work, position })));
}
