// Prints each rule of packages that is broken, and fails.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokenRules } from './package-rules';
import { readPackages, root } from './packages';

/** How many engines each lockfile holds. */
const lockfiles = {
  'pnpm-lock.yaml': 1,
  'scripts/peers/pnpm-lock.yaml': 0,
  'scripts/release/tools/pnpm-lock.yaml': 0,
  'scripts/tensorflow/tfjs-node/pnpm-lock.yaml': 0,
};

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

const packages = readPackages();
const kindOf = new Map(packages.map(({ manifest }) => [manifest.name, manifest.polyhead?.kind]));
const published = packages.filter(({ manifest }) => manifest.private !== true);
const versions = new Set(published.map(({ manifest }) => manifest.version));
const broken = [
  ...packages.flatMap((subject) =>
    brokenRules(subject, (name) => kindOf.get(name)).map((problem) => `${subject.path}: ${problem}`),
  ),
  ...checkLockfiles(),
  versions.size > 1 && `packages: one version for all, not ${[...versions].join(', ')}`,
].filter((problem) => problem !== false);

for (const problem of broken) console.error(problem);
console.log(`${packages.length} packages checked, ${broken.length} rules broken`);
process.exitCode = broken.length > 0 ? 1 : 0;
