// What is inside a published package.
import { equal } from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from './command';
import { newProject } from './project';
import type { Registry } from './registry';
import { toolFile } from './tools';

/** Fetches packages from the registry, and looks into each: files, types, and sources that are there once. */
export function checkPacked(folder: string, registry: Registry, packages: readonly string[]): void {
  const project = newProject(folder, registry);
  const cwd = project.folder;
  for (const name of packages) {
    const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', name], { cwd }));
    run(
      process.execPath,
      [toolFile('@arethetypeswrong/cli', 'dist/index.js'), '--profile', 'esm-only', filename],
      { cwd },
    );
    const unpacked = join(cwd, 'unpacked', name);
    mkdirSync(unpacked, { recursive: true });
    run('tar', ['-xzf', filename, '-C', unpacked], { cwd });
    checkFiles(name, join(unpacked, 'package'));
  }
}

function checkFiles(name: string, folder: string): void {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const missing = ['README.md', 'CHANGELOG.md', 'LICENSE'].filter((file) => !files.includes(file));
  equal(missing.join(), '', `files that ${name} lacks`);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const changes = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8');
  equal(changes.includes(`\n## ${version}\n`), true, `${name}: the change log speaks of ${version}`);
  equal(
    files.filter((file) => /\.test\.|fixtures|golden/.test(file)).join(),
    '',
    `files of tests in ${name}`,
  );
  for (const file of files.filter((file) => file.endsWith('.map'))) {
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    equal(sourcesContent, undefined, `${name}/${file}: sources are packed once, in src`);
    const lost = sources.filter((source: string) => !existsSync(join(folder, dirname(file), source)));
    equal(lost.join(), '', `sources of ${name}/${file} that are not packed`);
  }
}
