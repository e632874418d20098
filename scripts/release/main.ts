// Proves a release from version to use, against a registry on this machine: `npx pnpm test:release`. The working tree stays as
// it is.
import { equal } from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleForNode, bundleForPage } from './bundles';
import { step } from './command';
import { checkInstalled, firstMinute } from './first-minute';
import { runJest } from './jest';
import { checkMixed } from './mixed';
import { checkPacked } from './packed';
import { runInChromium } from './page';
import { decoded, decodingPackages, nodeProgram } from './programs';
import {
  type Installer,
  install,
  installedPackages,
  newProject,
  type Project,
  printed,
  write,
} from './project';
import { type Registry, startRegistry } from './registry';
import {
  addChangeset,
  type Copy,
  copyRepository,
  makeVersion,
  pnpm,
  publish,
  publishedPackages,
  releaseBefore,
  versionOf,
} from './repository';
import { measureSizes } from './sizes';
import { installTools, type NodeVersion, nodeVersions } from './tools';
import { checkTypes } from './type-check';

const folder = mkdtempSync(join(tmpdir(), 'polyhead-release-'));

async function proveRelease(registry: Registry): Promise<string> {
  const copy = await step('a copy of the repository, installed', () =>
    copyRepository(join(folder, 'repository'), registry),
  );
  const version = await step(
    'version',
    () => makeVersion(copy),
    (made) => made,
  );
  const released = await publishRelease(registry, releaseBefore(version));
  await step('build, publint', () => pnpm(copy, 'run', 'lint:packages'));
  await step('publish', () => publish(copy));
  const names = publishedPackages(copy).map(({ name }) => name);
  await step('packed files, types (attw)', () => checkPacked(join(folder, 'packed'), registry, names));
  await proveFreshProjects(registry, names);
  const next = await proveNextVersions(copy);
  const versions = [...released, version, next];
  for (const [n, later] of versions.slice(1).entries()) {
    const earlier = versions[n]!;
    await step(
      `${earlier} and ${later} mixed`,
      () => checkMixed(join(folder, `mixed-${later}`), registry, { earlier, later }),
      String,
    );
  }
  return `${names.length} packages, ${versions.join(', ')}`;
}

/** What was released before, built of its commit. */
async function publishRelease(registry: Registry, commit: string | undefined): Promise<readonly string[]> {
  if (!commit) return [];
  const version = await step(
    'the release before, published',
    () => {
      const copy = copyRepository(join(folder, 'released'), registry, commit);
      pnpm(copy, 'run', 'build');
      publish(copy);
      return versionOf(copy);
    },
    (released) => released,
  );
  return [version];
}

async function proveFreshProjects(registry: Registry, names: readonly string[]): Promise<void> {
  const { installed, missing } = nodeVersions();
  const first = (
    document: string,
    installer: Installer,
    nodes: readonly NodeVersion[] = installed.slice(0, 1),
  ) =>
    step(`${document}, by ${installer}`, () =>
      firstMinute(join(folder, `${document.replaceAll('/', '-')}-${installer}`), registry, {
        document,
        installer,
        nodes,
      }),
    );
  console.log(`Node ${installed.map(({ version }) => version).join(', ')}, by import and by require`);
  for (const reason of missing) console.log(`skipped: ${reason}`);
  const project = await first('packages/multi-head/README.md', 'npm', installed);
  await first('packages/multi-head/README.md', 'pnpm');
  await first('README.md', 'npm');
  for (const name of names.filter((other) => other !== '@polyhead/multi-head'))
    await first(`${name.replace('@polyhead', 'packages')}/README.md`, 'npm');
  await step('TypeScript 5.9 and 6.0, nodenext and bundler', () => checkTypes(project));
  const decoder = await step('grouped-query, flash, kv-cache, by npm', () => decode(registry, 'npm'));
  await step('grouped-query, flash, kv-cache, by pnpm', () => decode(registry, 'pnpm'));
  await step('Jest', () => runJest(decoder, installed[0]!));
  await step('esbuild --platform=node', () => bundleForNode(decoder, installed[0]!));
  const bundles = await step('esbuild, Vite, Rollup, webpack', () => bundleForPage(decoder));
  await step('bundles in Chromium, on wasm', () => runInChromium(decoder, bundles), String);
  await step(
    'sizes',
    () => {
      const all = newProject(join(folder, 'all'), registry);
      install(all, [...names, '@tensorflow/tfjs-core']);
      return measureSizes(all);
    },
    String,
  );
}

function decode(registry: Registry, installer: Installer): Project {
  const project = newProject(join(folder, `decode-${installer}`), registry);
  install(project, decodingPackages, installer);
  checkInstalled(project, decodingPackages);
  write(project, 'decode.js', nodeProgram());
  for (const node of nodeVersions().installed)
    equal(printed(project, 'decode.js', node).at(-1), decoded, node.version);
  return project;
}

/** Of what comes after: a snapshot of a change, and the next minor. */
async function proveNextVersions(copy: Copy): Promise<string> {
  const later = await step(
    'the next minor, published',
    () => {
      addChangeset(copy);
      const version = makeVersion(copy);
      publish(copy);
      return version;
    },
    String,
  );
  await step(
    'a snapshot, published and installed',
    () => {
      addChangeset(copy);
      pnpm(copy, 'exec', 'changeset', 'version', '--snapshot');
      publish(copy, '--tag', 'snapshot', '--no-git-tag');
      const project = newProject(join(folder, 'snapshot'), copy.registry);
      install(project, ['@polyhead/multi-head@snapshot', '@tensorflow/tfjs-core']);
      const { version } = installedPackages(project).find(({ name }) => name === '@polyhead/core')!;
      equal(version.startsWith('0.0.0-'), true, version);
      return version;
    },
    String,
  );
  return later;
}

const start = performance.now();
let registry: Registry | undefined;
try {
  await step('tools', installTools);
  registry = await step('a registry', () => startRegistry(join(folder, 'registry')));
  const proved = await proveRelease(registry);
  console.log(`release proved: ${proved}, in ${Math.round((performance.now() - start) / 1000)} s`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.log('release not proved');
  process.exitCode = 1;
} finally {
  registry?.stop();
  rmSync(folder, { recursive: true, force: true });
}
