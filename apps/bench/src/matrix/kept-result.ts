// What `bench full` has measured so far lies in the file of its result, so that it goes on where it was interrupted.
import { existsSync, renameSync, statSync } from 'node:fs';
import { UsageError } from '../command-line/errors';
import { writeTo } from '../command-line/user-path';
import { type Environment, readEnvironment } from '../measure/environment';
import type { Comparison } from './full-plan';
import type { Measurement } from './measure-cells';
import { readResult } from './read-result';
import { type MatrixResult, placeOf } from './result';

export interface Kept {
  /** What was measured before, in the same circumstances. */
  readonly result?: MatrixResult;
  /** Why nothing of the file is taken, where it holds a result. */
  readonly reason?: string;
}

/** @throws UsageError where there is a file that is no result: it is not written over */
export function readKept(path: string, command: string, environment: Environment = readEnvironment()): Kept {
  if (!existsSync(path) || !statSync(path).isFile() || statSync(path).size === 0) return {};
  let result: MatrixResult;
  try {
    result = readResult(path);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}; give another --json, or remove it`);
  }
  if (result.complete) return { reason: 'the result that is there is complete' };
  const { tfjs, node, commit, cpu } = environment;
  const now = { command, tfjs, node, cpu, commit };
  const then = { ...result.versions, cpu: result.machine.cpu, command: result.command };
  for (const [name, value] of Object.entries(now)) {
    const before = then[name as keyof typeof then];
    if (before !== value) return { reason: `what was kept has another ${name}: ${before ?? 'none'}` };
  }
  return { result };
}

/** Of a comparison all of whose cells were measured, or told as absent. */
export function keptOf(
  { title, cells }: Comparison,
  kept: MatrixResult | undefined,
): Measurement | undefined {
  const of = <T extends { readonly turns?: string | undefined }>(list: readonly T[]) =>
    list.filter(({ turns }) => turns === title);
  const known = { cells: of(kept?.cells ?? []), absent: of(kept?.absent ?? []) };
  const places = new Set([...known.cells, ...known.absent].map(placeOf));
  return cells.every((cell) => places.has(placeOf(cell))) ? known : undefined;
}

/** At once, whenever the program is ended. */
export function keep(path: string, result: MatrixResult): void {
  const text = `${JSON.stringify(result, null, 1)}\n`;
  const isDevice = existsSync(path) && !statSync(path).isFile(); // or a pipe
  writeTo(isDevice ? path : `${path}.part`, text);
  if (!isDevice) renameSync(`${path}.part`, path);
}
