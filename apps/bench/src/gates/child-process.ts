// Contestants that compute in a process of their own and are driven turn by turn: a line of JSON asks, a line answers.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { firstLine } from '../../../../scripts/backends/errors';
import type { Turn } from '../measure/timed';
import type { Arena } from './arena';
import type { Contestant, Entry } from './contestant';

/**
 * The program reads `JobOfChild` from its last argument and the numbers from files, and says `Greeting`. Then it answers
 * `{"turn": op}` with `{"ms", "cpuMs"}`, and `{"numbers": op}` with `{"files"}`, until its input ends.
 */
export interface Program {
  readonly peer: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Files hold float32 as they lie in memory, row-major, heads first. */
export interface JobOfChild {
  readonly work: Arena['work'];
  readonly threads: number;
  /** Holds query.f32, key.f32, value.f32 and outputGradient.f32, and takes results. */
  readonly folder: string;
}

export type Greeting =
  | { readonly version: string; readonly ops: readonly string[] }
  | { readonly absent: string };

/** Never rejects: what does not start, or not as expected, is absent. */
export async function enterProgram(
  program: Program,
  { work, inputs, threads, check }: Arena,
): Promise<Entry[]> {
  const { peer } = program;
  const folder = mkdtempSync(join(tmpdir(), 'polyhead-gates-'));
  for (const [name, numbers] of Object.entries(inputs)) writeFileSync(join(folder, `${name}.f32`), numbers);
  const child = new Child(program, { work, threads, folder } satisfies JobOfChild);
  const leave = async () => {
    await child.end();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const greeting = (await child.answer()) as Greeting;
    if ('absent' in greeting) throw new Error(greeting.absent);
    const { version, ops } = greeting;
    let left = ops.length;
    return ops.map(
      (op): Contestant => ({
        peer,
        version,
        op,
        turn: async () => (await child.ask({ turn: op })) as Turn,
        async error() {
          const { files } = (await child.ask({ numbers: op })) as { files: string[] };
          return check(files.map(readNumbers));
        },
        async dispose() {
          left--;
          if (left === 0) await leave();
        },
      }),
    );
  } catch (error) {
    await leave();
    return [{ peer, reason: firstLine(error) }];
  }
}

/** A process that is asked by lines of JSON. */
export class Child {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  #failure: string | undefined;

  constructor({ command, args, env }: Program, job: object) {
    this.#process = spawn(command, [...args, JSON.stringify(job)], { env: { ...process.env, ...env } });
    this.#process.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure = error.code === 'ENOENT' ? `there is no ${command}` : error.message;
    });
    this.#process.stdin.on('error', () => {}); // it has ended: the missing answer says so
    this.#process.stderr.on('data', (text: Buffer) => {
      this.#failure = lastLine(text.toString()) ?? this.#failure;
    });
    this.#ended = once(this.#process, 'close').catch(() => {});
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  ask(request: object): Promise<unknown> {
    this.#process.stdin.write(`${JSON.stringify(request)}\n`);
    return this.answer();
  }

  /** Lines that are no JSON are a library's own words. */
  async answer(): Promise<unknown> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) {
        await this.#ended;
        throw new Error(this.#failure ?? 'its process ended without a word');
      }
      if (value.startsWith('{')) return JSON.parse(value);
    }
  }

  async end(): Promise<void> {
    this.#process.stdin.end();
    await this.#ended;
  }
}

function readNumbers(file: string): Float32Array {
  const { buffer, byteOffset, byteLength } = readFileSync(file);
  return new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));
}

const lastLine = (text: string) => text.trim().split('\n').at(-1) || undefined;
