// Nothing lies there that nobody uses: files, dependencies, exports of a file. What a package exports by its doors counts as
// used where a document names it, or another package of the repository takes it. Prints the others, and fails.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listDocuments } from './document-examples';
import { doorsOf, readPackages, root } from './packages';

interface Finding {
  readonly name: string;
  readonly line?: number;
}

/** By the file, what each rule of knip has found there. */
type Issue = { readonly file: string } & { readonly [rule: string]: readonly Finding[] | string };

const words = new Set(
  listDocuments().flatMap((path) => readFileSync(join(root, path), 'utf8').match(/[A-Za-z_$][\w$]*/g) ?? []),
);
const doors = new Set(readPackages(['packages']).flatMap(doorsOf));

const built = readPackages(['packages']).filter(({ path }) => existsSync(join(root, path, 'dist')));
if (built.length > 0) {
  console.error('it reads sources, and packages are built: rm -rf packages/*/dist');
  process.exit(1);
}

const { stdout, stderr } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/knip/bin/knip.js'), '--include-entry-exports', '--reporter', 'json'],
  { cwd: root, encoding: 'utf8' },
);
const report = stdout.split('\n').find((line) => line.startsWith('{"issues"'));
if (!report) throw new Error(`knip does not answer: ${stderr || stdout}`);

const unused = (JSON.parse(report).issues as readonly Issue[]).flatMap(({ file, ...rules }) =>
  Object.entries(rules).flatMap(([rule, findings]) =>
    (Array.isArray(findings) ? (findings as readonly Finding[]) : [])
      .filter(({ name }) => !(rule === 'exports' && doors.has(file) && words.has(name)))
      .map(({ name, line }) => `${file}${line ? `:${line}` : ''}: ${rule}: ${name}`),
  ),
);
for (const line of unused) console.error(line);
console.log(unused.length === 0 ? 'nothing is unused' : `${unused.length} unused`);
process.exitCode = unused.length === 0 ? 0 : 1;
