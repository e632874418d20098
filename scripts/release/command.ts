// Commands that a proof runs, and its steps, each printed with its seconds.
import { execFileSync } from 'node:child_process';

export interface Place {
  /** The folder it runs in. */
  readonly cwd: string;
  /** Beside the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * @returns what it prints
 * @throws Error with all that it printed, where it fails
 */
export function run(command: string, args: readonly string[], { cwd, env = {} }: Place): string {
  try {
    return execFileSync(command, args, {
      cwd,
      env: { ...process.env, ...env },
      encoding: 'utf8',
      stdio: 'pipe',
      maxBuffer: 2 ** 28,
    });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    const printed = `${stdout}\n${stderr}`.trim().slice(-4000);
    throw new Error(`in ${cwd}: ${[command, ...args].join(' ')}\n${printed}`);
  }
}

/** What it was found to be, in words, is printed beside its name. */
export async function step<T>(
  name: string,
  work: () => T | Promise<T>,
  inWords: (result: T) => string = () => '',
): Promise<T> {
  const start = performance.now();
  let words = 'FAILED';
  try {
    const result = await work();
    words = inWords(result);
    return result;
  } finally {
    const seconds = Math.round((performance.now() - start) / 1000);
    console.log(`${name.padEnd(44)} ${String(seconds).padStart(4)} s  ${words}`.trimEnd());
  }
}
