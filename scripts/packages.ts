// The packages of the workspace as they lie there: what scripts and configurations do follows from them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Manifest, Package } from './package-rules';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Left out of the files of a package: what is installed or built. */
const made = ['node_modules', 'dist', 'coverage'];

export function readPackages(parents: readonly string[] = ['packages', 'apps', 'templates']): Package[] {
  return parents.flatMap((parent) =>
    readdirSync(join(root, parent)).map((folder) => readPackage(join(parent, folder))),
  );
}

function readPackage(path: string): Package {
  const files = filesOf(join(root, path));
  const textOf = (file: string) => (files.includes(file) ? readFileSync(join(root, path, file), 'utf8') : '');
  const manifest: Manifest = JSON.parse(textOf('package.json') || '{}');
  return { path, manifest, files, readme: textOf('README.md') };
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isFile()) return [entry.name];
    if (made.includes(entry.name) || !existsSync(join(folder, entry.name))) return [];
    return filesOf(join(folder, entry.name)).map((file) => `${entry.name}/${file}`);
  });
}

/** The source files that are the doors of a package, from the root. */
export function doorsOf({ path, manifest }: Package): string[] {
  const doors = Object.values(manifest.exports ?? {}) as (
    | string
    | { readonly '@polyhead/source'?: string }
  )[];
  const sources = doors.map((door) => (typeof door === 'string' ? door : door['@polyhead/source']));
  return sources.flatMap((source) => (source?.endsWith('.ts') ? join(path, source) : []));
}
