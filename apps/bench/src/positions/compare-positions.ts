// `bench --position NAMES`: what position methods cost beside none, in one layer.

import { named, registries } from '../axes/registries';
import { chooseBackend } from '../backends/backend';
import type { BackendName } from '../backends/backend-name';
import type { Outlet } from '../command-line/outlet';
import { writeTo } from '../command-line/user-path';
import { measureCells, refuseWrong } from '../matrix/measure-cells';
import { beginRun } from '../matrix/run';
import { readEnvironment } from '../measure/environment';
import { environmentLines } from '../print/environment-lines';
import { positionCells, positionLayer } from './cells';
import { measureMemory, type PositionMemory } from './memory';
import { positionLines } from './report';

export interface PositionOptions {
  /** Of methods. */
  readonly names: readonly string[];
  readonly backend?: BackendName;
  readonly quick: boolean;
  readonly json?: string; // absolute path
}

const lengths = [256, 1024];

/** What a method is and takes, beside its times. */
export interface PositionFacts extends PositionMemory {
  readonly name: string;
  readonly note?: string;
}

/** @throws WrongResultError for a method whose numbers are wrong */
export async function comparePositions(options: PositionOptions, outlet: Outlet): Promise<void> {
  const { names, quick, json } = options;
  const backend = await chooseBackend(options.backend);
  const run = beginRun('bench --position');
  const { embedDim, numHeads } = named(registries.layers, positionLayer)!.config;
  const shape = { embedDim, numHeads, longest: lengths.at(-1)! };
  const most = quick ? 5 : 11;
  outlet.progress.stage('comparing position methods, each checked first');
  const measured = await measureCells(
    // Plain JavaScript takes seconds for a pass.
    {
      cells: positionCells(names, backend.name, { lengths }),
      samples: { seconds: 30, least: 3, most },
    },
    { onRun: outlet.progress.advance },
  );
  refuseWrong(measured);
  const positions = ['none', ...names].map((name): PositionFacts => {
    const method = named(registries.positions, name);
    return {
      name,
      ...measureMemory(method, shape),
      ...(method?.note !== undefined && { note: method.note }),
    };
  });
  outlet.print([
    ...positionLines(shape, { positions, ...measured }, outlet.terminal.width),
    '',
    ...environmentLines(backend, readEnvironment()),
  ]);
  const result = { ...run.result({ backends: [backend], peaks: {}, ...measured }), positions };
  if (json !== undefined) writeTo(json, `${JSON.stringify(result, null, 2)}\n`);
}
