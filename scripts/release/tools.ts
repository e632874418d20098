// The tools of a release, which have a lockfile of their own, and other versions of Node.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './command';
import manifest from './tools/package.json' with { type: 'json' };

export const root = fileURLToPath(new URL('../..', import.meta.url));
const tools = join(root, 'scripts/release/tools');

export function installTools(): void {
  run(join(root, 'node_modules/.bin/pnpm'), ['install', '--frozen-lockfile', '--prefer-offline'], {
    cwd: tools,
  });
}

/** A file of a tool, or of a development dependency of the root. */
export function toolFile(name: string, file = ''): string {
  const places = [tools, root].map((folder) => join(folder, 'node_modules', name, file));
  const path = places.find((place) => existsSync(place));
  if (!path) throw new Error(`${join(name, file)} is not installed`);
  return path;
}

export interface NodeVersion {
  readonly version: string;
  /** Its program. */
  readonly program: string;
}

/** The lowest Node that packages run on, the newest of each line, and that of this process. */
export function nodeVersions(): {
  readonly installed: readonly NodeVersion[];
  readonly missing: readonly string[];
} {
  const installed = [{ version: process.versions.node, program: process.execPath }];
  const missing: string[] = [];
  for (const [name, version] of Object.entries(manifest.optionalDependencies)) {
    const number = version.split('@').at(-1)!;
    const program = join(tools, 'node_modules', name, 'bin/node');
    if (existsSync(program)) installed.push({ version: number, program });
    else missing.push(`Node ${number}: its program is on the registry for linux x64 only`);
  }
  return { installed, missing };
}

/** The environment in which `node` is that version. */
export function pathOf({ program }: NodeVersion): { readonly PATH: string } {
  return { PATH: `${dirname(program)}:${process.env.PATH}` };
}
