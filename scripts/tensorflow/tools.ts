// The programs that do the work, and how they report.
import { spawnSync } from 'node:child_process';

export const python = process.env.PYTHON ?? 'python3';
export const compiler = process.env.CXX ?? 'g++';

/** A step failed for a reason outside: the message says all there is to say. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** What of these this machine lacks, in words. */
export function missingTools(): string | undefined {
  const isThere = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
  const missing = [
    ...(isThere(python, '-m', 'pip', '--version') ? [] : [`${python} with pip (Debian: python3-pip)`]),
    ...(isThere(compiler, '--version') ? [] : [`${compiler} (Debian: g++)`]),
  ];
  return missing.length > 0 ? `this machine lacks ${missing.join(' and ')}` : undefined;
}

/**
 * Runs a program that shows its own progress and its own errors.
 *
 * @throws ToolError with the words of `failure`
 */
export function runTool(
  command: string,
  args: readonly string[],
  { failure, cwd }: { readonly failure: string; readonly cwd?: string },
): void {
  const { error, status } = spawnSync(command, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    ...(cwd !== undefined && { cwd }),
  });
  if (error || status !== 0) throw new ToolError(error ? `${failure}: ${error.message}` : failure);
}

export function say(line: string): void {
  console.log(`tensorflow: ${line}`);
}
