// Paths that a user gives.
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from './errors';

/** A path meant from where the user stands, which a package manager may have left: absolute. */
export function userPath(path: string): string {
  return resolve(process.env.INIT_CWD ?? '', path);
}

/** @throws UsageError unless a file can be written there */
export function writablePath(file: string): string {
  const path = userPath(file);
  if (!existsSync(dirname(path))) throw new UsageError(`--json: there is no folder ${dirname(path)}`);
  if (existsSync(path) && statSync(path).isDirectory()) throw new UsageError(`--json: ${path} is a folder`);
  return path;
}
