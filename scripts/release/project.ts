// A fresh project of a user.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command';
import type { Registry } from './registry';
import { type NodeVersion, pathOf, root } from './tools';

export interface Project {
  readonly folder: string;
}

/** An empty folder that installs from the registry. */
export function newProject(folder: string, { npmrc }: Registry): Project {
  mkdirSync(folder, { recursive: true });
  const project = { folder };
  write(project, '.npmrc', npmrc);
  write(project, 'package.json', JSON.stringify({ name: 'fresh', private: true, type: 'module' }));
  return project;
}

export function write({ folder }: Project, file: string, text: string): void {
  writeFileSync(join(folder, file), text);
}

const installers = {
  npm: ['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'],
  pnpm: [join(root, 'node_modules/.bin/pnpm'), 'add', '--prefer-offline', '--ignore-workspace'],
} as const;

export type Installer = keyof typeof installers;

export function install({ folder }: Project, packages: readonly string[], by: Installer = 'npm'): void {
  const [command, ...args] = installers[by];
  run(command, [...args, ...packages], { cwd: folder });
}

/** What a program of the project prints, run by that Node. */
export function printed({ folder }: Project, file: string, node: NodeVersion): string[] {
  const text = run(node.program, [file], { cwd: folder, env: pathOf(node) });
  return text
    .trim()
    .split('\n')
    .filter((line) => line !== '');
}

/** Every file below `node_modules`; links, of which pnpm makes many, are not followed. */
export function installedFiles({ folder }: Project): string[] {
  return filesBelow(join(folder, 'node_modules'));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory())
      return filesBelow(join(folder, entry.name)).map((file) => `${entry.name}/${file}`);
    return entry.isFile() ? [entry.name] : [];
  });
}

export interface Installed {
  readonly name: string;
  readonly version: string;
  readonly license: unknown;
}

/** Every package that is installed; one that is there twice is named twice. */
export function installedPackages(project: Project): Installed[] {
  return installedFiles(project)
    .filter((file) => /(^|node_modules\/)(@[^/]+\/)?[^/@.][^/]*\/package\.json$/.test(file))
    .map((file) => JSON.parse(readFileSync(join(project.folder, 'node_modules', file), 'utf8')))
    .map(({ name, version, license }) => ({ name, version, license }));
}
