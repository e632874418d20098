// A copy of the repository in which versions are made, built and published: the working tree stays as it is.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from './command';
import type { Registry } from './registry';
import { root } from './tools';

export interface Copy {
  readonly folder: string;
  readonly registry: Registry;
}

interface Published {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
}

const author = ['-c', 'user.name=release', '-c', 'user.email=release@localhost'];

/**
 * All files but those that git ignores, as the only commit of a new repository, with what is installed.
 *
 * @param earlier a commit, whose files they are. Default: those of the working tree
 */
export function copyRepository(folder: string, registry: Registry, earlier?: string): Copy {
  mkdirSync(folder, { recursive: true });
  if (earlier) copyCommit(folder, earlier);
  else copyWorkingTree(folder);
  run('git', ['init', '--quiet', '--initial-branch=main'], { cwd: folder });
  commit(folder, 'a copy');
  writeFileSync(join(folder, '.npmrc'), registry.npmrc);
  const copy = { folder, registry };
  pnpm(copy, 'install', '--frozen-lockfile', '--prefer-offline');
  return copy;
}

function copyWorkingTree(folder: string): void {
  const listed = run('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: root });
  for (const file of listed.split('\0')) {
    if (file === '' || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
}

function copyCommit(folder: string, earlier: string): void {
  const archive = `${folder}.tar`;
  run('git', ['archive', `--output=${archive}`, earlier], { cwd: root });
  run('tar', ['-xf', archive, '-C', folder], { cwd: root });
}

/** The commit of the release before this version; undefined where it is the first. */
export function releaseBefore(version: string): string | undefined {
  const show = (...args: readonly string[]) => run('git', args, { cwd: root });
  const commits = show('log', '--format=%H', '--', 'packages/core/CHANGELOG.md').split('\n').filter(Boolean);
  return commits.find(
    (each) => JSON.parse(show('show', `${each}:packages/core/package.json`)).version !== version,
  );
}

function commit(folder: string, message: string): void {
  run('git', ['add', '--all'], { cwd: folder });
  run('git', [...author, 'commit', '--quiet', '--no-verify', '--allow-empty', '--message', message], {
    cwd: folder,
  });
}

/** Runs there with the registry of the proof as the one to publish to. */
export function pnpm({ folder, registry }: Copy, ...args: readonly string[]): string {
  const env = {
    CI: 'true',
    NPM_CONFIG_PROVENANCE: 'false',
    ...(args.includes('publish') && { npm_config_registry: registry.url }),
  };
  return run(join(root, 'node_modules/.bin/pnpm'), args, { cwd: folder, env });
}

export function publishedPackages({ folder }: Copy): Published[] {
  return readdirSync(join(folder, 'packages')).flatMap((name) => {
    const path = join(folder, 'packages', name);
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    return manifest.private ? [] : [{ folder: path, name: manifest.name, version: manifest.version }];
  });
}

/** The version that all published packages have. */
export function versionOf(copy: Copy): string {
  const versions = new Set(publishedPackages(copy).map(({ version }) => version));
  if (versions.size !== 1)
    throw new Error(`published packages have the versions ${[...versions].join(', ')}`);
  return [...versions][0]!;
}

/** Makes the version that the changesets of the repository ask for; without any, it has been made. */
export function makeVersion(copy: Copy): string {
  const changesets = readdirSync(join(copy.folder, '.changeset')).filter(
    (file) => file.endsWith('.md') && file !== 'README.md',
  );
  if (changesets.length > 0) pnpm(copy, 'run', 'version');
  commit(copy.folder, 'the version');
  return versionOf(copy);
}

/** A change of every package that users can notice. */
export function addChangeset(copy: Copy): void {
  const packages = publishedPackages(copy).map(({ name }) => `"${name}": minor`);
  const text = `---\n${packages.join('\n')}\n---\n\nA change.\n`;
  writeFileSync(join(copy.folder, '.changeset/a-change.md'), text);
}

export function publish(copy: Copy, ...options: readonly string[]): void {
  pnpm(copy, 'exec', 'changeset', 'publish', ...options);
}
