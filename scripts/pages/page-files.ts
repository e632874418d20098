// The files of docs/browser.md, in a folder where they find the packages as a project that has installed them does.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Package } from '../package-rules';
import { doorsOf, readPackages, root } from '../packages';

/** The text of each block that begins with the name of a file, in a comment, by that name. */
export function filesOf(document: string): ReadonlyMap<string, string> {
  const text = readFileSync(join(root, document), 'utf8');
  const blocks = text.matchAll(/^```\w+\n(?:\/\/|<!--) (\S+\.\w+)(?: -->)?\n(.*?)^```$/gms);
  return new Map([...blocks].map(([, name, code]) => [name!, code!]));
}

/** A new folder with the files of docs/browser.md, the packages that are published, built, and TensorFlow.js. */
export async function makeProject(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'polyhead-pages-'));
  const scope = join(folder, 'node_modules/@polyhead');
  mkdirSync(scope, { recursive: true });
  symlinkSync(join(root, 'node_modules/@tensorflow'), join(folder, 'node_modules/@tensorflow'), 'dir');
  const published = readPackages(['packages']).filter(({ manifest }) => manifest.private !== true);
  await Promise.all(published.map((each) => buildInto(scope, each)));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, text] of filesOf('docs/browser.md')) writeFileSync(join(folder, name), text);
  return folder;
}

/** As tsup does, without declarations. */
async function buildInto(scope: string, one: Package): Promise<void> {
  const folder = join(scope, one.path.replace(/^.*\//, ''));
  mkdirSync(folder);
  cpSync(join(root, one.path, 'package.json'), join(folder, 'package.json'));
  await build({
    absWorkingDir: root,
    entryPoints: doorsOf(one),
    outdir: join(folder, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    packages: 'external',
    logLevel: 'error',
  });
}
