// The other end of child-process.ts for programs of JavaScript.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { printUncaughtErrors } from '../../../../scripts/backends/errors';
import { timed } from '../measure/timed';
import type { AttentionInputs } from './attention-work';
import { bundled } from './bundle';
import type { Greeting, JobOfChild, Program } from './child-process';

/** One operation: what is timed, and what comes after. */
export interface Operation<T> {
  readonly op: string;
  readonly version: string;
  run(): T | Promise<T>;
  /** Row-major, heads first. */
  numbers(result: T): readonly Float32Array[] | Promise<readonly Float32Array[]>;
  dispose(result: T): void;
}

/** A file of ours in a process of its own. */
export async function programOf(peer: string, script: URL, env: Program['env'] = {}): Promise<Program> {
  const file = fileURLToPath(await bundled(script, { withTfjs: false }));
  return { peer, command: process.execPath, args: [file], env };
}

/** What the process is to compute, and from what. */
export function readJob(): Pick<JobOfChild, 'work' | 'folder'> & { readonly inputs: AttentionInputs } {
  const { work, folder } = JSON.parse(process.argv.at(-1)!) as JobOfChild;
  const read = (name: keyof AttentionInputs) => {
    const { buffer, byteOffset, byteLength } = readFileSync(join(folder, `${name}.f32`));
    return new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));
  };
  return {
    work,
    folder,
    inputs: {
      query: read('query'),
      key: read('key'),
      value: read('value'),
      outputGradient: read('outputGradient'),
    },
  };
}

/** Greets, and answers until there are no more questions. @param open throws why it cannot */
export async function serve<T>(folder: string, open: () => Promise<Operation<T>>): Promise<void> {
  printUncaughtErrors();
  let operation: Operation<T>;
  try {
    operation = await open();
  } catch (error) {
    answer({ absent: (error as Error).message } satisfies Greeting);
    return;
  }
  const { op, version } = operation;
  answer({ version, ops: [op] } satisfies Greeting);
  for await (const line of createInterface({ input: process.stdin })) {
    const { turn, result } = await timed(() => operation.run());
    if ('turn' in JSON.parse(line)) answer(turn);
    else answer({ files: writeNumbers(folder, await operation.numbers(result)) });
    operation.dispose(result);
  }
}

function writeNumbers(folder: string, results: readonly Float32Array[]): string[] {
  return results.map((numbers, n) => {
    const file = join(folder, `result-${n}.f32`);
    writeFileSync(file, numbers);
    return file;
  });
}

function answer(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
