// The rules every package keeps. Prints each one that is broken, and fails.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

interface Package {
  readonly path: string; // packages/core
  readonly folder: string; // core
  readonly manifest: Manifest;
  /** Published, or the template of what is published. */
  readonly library: boolean;
}

type Rule = (subject: Package) => readonly (string | false)[];

const root = fileURLToPath(new URL('..', import.meta.url));
const headings = ['## Install', '## Use', '## Options', '## When to use it, when not', '## Reference'];
const peers = { '@tensorflow/tfjs-core': '^4.22.0' };

const files: Rule = ({ path, library }) => [
  ...['package.json', 'README.md'].map((file) => !existsSync(join(root, path, file)) && `has no ${file}`),
  library && !existsSync(join(root, path, 'src/index.ts')) && 'has no src/index.ts',
  // One config per tool, at the root.
  ...readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isFile() && !['package.json', 'README.md', 'CHANGELOG.md'].includes(entry.name))
    .map((entry) => `holds the file ${entry.name}`),
];

const readme: Rule = ({ path, manifest }) => {
  const text = existsSync(join(root, path, 'README.md'))
    ? readFileSync(join(root, path, 'README.md'), 'utf8')
    : '';
  const prose = text.replace(/^```.*?^```$/gms, '');
  const found = prose.split('\n').filter((line) => line.startsWith('#'));
  const wanted = [`# ${manifest.name}`, ...headings];
  return [found.join() !== wanted.join() && `README.md: the headings must be ${wanted.join(' / ')}`];
};

const everyManifest: Rule = ({ folder, manifest }) => [
  manifest.name !== `@polyhead/${folder}` && `must be named @polyhead/${folder}`,
  !manifest.version && 'has no version: packing what depends on it would fail',
  !manifest.description && 'has no description',
  manifest.license !== 'Apache-2.0' && 'must have license Apache-2.0',
  manifest.type !== 'module' && 'must have type module',
  ...Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    .filter(([name, range]) => name.startsWith('@polyhead/') && range !== 'workspace:^')
    .map(([name]) => `must depend on ${name} by workspace:^`),
];

const libraryManifest: Rule = ({ path, manifest, library }) => {
  if (!library) return [manifest.private !== true && 'must be private'];
  const wanted = {
    sideEffects: false,
    engines: { node: '>=20.19' },
    repository: {
      type: 'git',
      url: 'git+https://github.com/polyhead/polyhead.git',
      directory: path,
    },
    files: ['dist', 'src', '!src/**/*.test.ts', '!src/fixtures'],
    publishConfig: { access: 'public' },
    scripts: {
      build: 'tsup --config ../../tsup.config.ts',
      test: `vitest run --root ../.. ${path}`,
      'lint:package': 'publint --strict',
    },
  };
  const exportsMap = JSON.stringify((manifest.exports as Record<string, unknown> | undefined)?.['.']);
  return [
    ...Object.entries(wanted)
      .filter(([field, value]) => JSON.stringify(manifest[field]) !== JSON.stringify(value))
      .map(([field, value]) => `${field} must be ${JSON.stringify(value)}`),
    exportsMap !==
      '{"@polyhead/source":"./src/index.ts","types":"./dist/index.d.ts","default":"./dist/index.js"}' &&
      'exports["."] must offer @polyhead/source, types and default, in this order',
  ];
};

const dependencies: Rule = ({ folder, manifest, library }) => {
  if (!library) return [];
  const allowed = folder === 'core' ? [] : ['@polyhead/core'];
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  const siblings = Object.keys(manifest.devDependencies ?? {}).filter((name) =>
    name.startsWith('@polyhead/'),
  );
  return [
    ...needed.filter((name) => !allowed.includes(name)).map((name) => `must not depend on ${name}`),
    JSON.stringify(manifest.peerDependencies) !== JSON.stringify(peers) &&
      `peerDependencies must be ${JSON.stringify(peers)}`,
    folder === 'core' && siblings.length > 0 && `core must not depend on ${siblings.join(', ')}: a cycle`,
  ];
};

/** How many engines each lockfile holds. */
const lockfiles = { 'pnpm-lock.yaml': 1, 'scripts/tensorflow/tfjs-node/pnpm-lock.yaml': 0 };

function checkLockfiles(): readonly (string | false)[] {
  return Object.entries(lockfiles).flatMap(([path, count]) => {
    const text = readFileSync(join(root, path), 'utf8');
    const engines = new Set(text.match(/^ {2}'@tensorflow\/tfjs-core@[^(']+/gm));
    return [
      engines.size !== count && `${path}: must hold ${count} @tensorflow/tfjs-core, not ${engines.size}`,
      /\w:\/\/|tarball:/.test(text) && `${path}: must not name a registry`,
    ];
  });
}

function readPackages(): Package[] {
  return ['packages', 'apps', 'templates'].flatMap((parent) =>
    readdirSync(join(root, parent)).map((folder) => {
      const path = join(parent, folder);
      const file = join(root, path, 'package.json');
      const manifest: Manifest = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
      return { path, folder, manifest, library: manifest.private !== true || parent === 'templates' };
    }),
  );
}

const packages = readPackages();
const published = packages.filter(({ manifest }) => manifest.private !== true);
const versions = new Set(published.map(({ manifest }) => manifest.version));
const rules = [files, readme, everyManifest, libraryManifest, dependencies];
const broken = [
  ...packages.flatMap((subject) =>
    rules.flatMap((rule) => rule(subject).map((problem) => problem && `${subject.path}: ${problem}`)),
  ),
  ...checkLockfiles(),
  versions.size > 1 && `packages: one version for all, not ${[...versions].join(', ')}`,
].filter((problem) => problem !== false);

for (const problem of broken) console.error(problem);
console.log(`${packages.length} packages checked, ${broken.length} rules broken`);
process.exitCode = broken.length > 0 ? 1 : 0;
