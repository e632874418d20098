import { resolve } from 'node:path';

/** A path meant from where the user stands, which a package manager may have left: absolute. */
export function userPath(path: string): string {
  return resolve(process.env.INIT_CWD ?? '', path);
}
