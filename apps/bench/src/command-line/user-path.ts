// Paths that a user gives.
import { closeSync, existsSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from './errors';

/** A path meant from where the user stands, which a package manager may have left: absolute. */
export function userPath(path: string): string {
  return resolve(process.env.INIT_CWD ?? '', path);
}

/**
 * Tried before a job runs, so that nothing is measured in vain.
 *
 * @param option that the path was given with
 * @throws UsageError unless a file can be written there
 */
export function writablePath(file: string, option = '--json'): string {
  const path = userPath(file);
  if (file === '') throw new UsageError(`${option}: the path is empty`);
  if (!existsSync(dirname(path))) throw new UsageError(`${option}: there is no folder ${dirname(path)}`);
  const exists = existsSync(path);
  const kind = exists ? statSync(path) : undefined;
  if (kind?.isDirectory()) throw new UsageError(`${option}: ${path} is a folder`);
  if (kind && !kind.isFile()) return path; // to open a pipe can end it
  try {
    closeSync(openSync(path, 'a'));
    if (!exists) rmSync(path);
  } catch (error) {
    throw new UsageError(`${option}: ${path} cannot be written: ${reasonOf(error)}`);
  }
  return path;
}

/**
 * The same of several options, by their names.
 *
 * @throws UsageError also where one would write over the other
 */
export function writablePaths<Name extends string>(
  files: Readonly<Record<Name, string | undefined>>,
): { readonly [Each in Name]?: string } {
  const paths = new Map<string, string>();
  for (const [name, file] of Object.entries<string | undefined>(files)) {
    if (file === undefined) continue;
    const path = writablePath(file, `--${name}`);
    const isDevice = existsSync(path) && !statSync(path).isFile();
    const other = [...paths].find(([, taken]) => taken === path && !isDevice);
    if (other) throw new UsageError(`--${other[0]} and --${name} are one file: ${path}`);
    paths.set(name, path);
  }
  return Object.fromEntries(paths) as { [Each in Name]?: string };
}

/** @throws UsageError where it cannot be written after all: the disk is full, the folder is gone */
export function writeTo(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new UsageError(`${path} cannot be written: ${reasonOf(error)}`);
  }
}

/** `EACCES: permission denied`, of all that Node says. */
const reasonOf = (error: unknown) => String((error as Error).message).split(',')[0]!;
