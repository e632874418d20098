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
