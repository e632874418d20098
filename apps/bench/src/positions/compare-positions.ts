// `bench --position NAMES`: what position methods cost beside none, in one layer.
import { writeFileSync } from 'node:fs';
import { chooseBackend } from '../backends/backend';
import type { BackendName } from '../backends/backend-name';
import type { Outlet } from '../command-line/outlet';
import { readEnvironment } from '../measure/environment';
import { environmentLines } from '../print/environment-lines';
import { measureMemory } from './memory';
import { type ComparedMethod, methods, type PositionShape } from './methods';
import { type ComparedPosition, positionLines } from './report';
import { type PositionRun, timePositions } from './speed';

export interface PositionOptions {
  /** Of methods. */
  readonly names: readonly string[];
  readonly backend?: BackendName;
  readonly quick: boolean;
  readonly json?: string; // absolute path
}

const shape: PositionShape = { embedDim: 512, numHeads: 8, longest: 1024 };

/** @throws WrongResultError for a method whose numbers are wrong */
export async function comparePositions(options: PositionOptions, outlet: Outlet): Promise<void> {
  const { names, quick, json } = options;
  const backend = await chooseBackend(options.backend);
  const environment = readEnvironment();
  const samples = quick ? 5 : 11;
  // Plain JavaScript takes seconds for a pass.
  const run: PositionRun = { shape, prefill: [256, 1024], samples: backend.name === 'cpu' ? 3 : samples };
  outlet.progress.stage('comparing position methods, each checked first');
  const compared = methods.filter(({ name }) => names.includes(name));
  const positions = await measurePositions(compared, run, outlet);
  outlet.print([
    ...positionLines(shape, positions, outlet.terminal.width),
    '',
    ...environmentLines(backend, environment),
  ]);
  const result = { environment, backend, positions };
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
}

/** None first. */
export async function measurePositions(
  compared: readonly ComparedMethod[],
  run: PositionRun,
  { progress }: Pick<Outlet, 'progress'>,
): Promise<ComparedPosition[]> {
  const timings = await timePositions(compared, run, progress.advance);
  return timings.map((timing, n) => {
    const method = compared[n - 1];
    return {
      ...timing,
      ...measureMemory(method, run.shape),
      ...(method?.note !== undefined && { note: method.note }),
    };
  });
}
