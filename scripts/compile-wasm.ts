// Compiles the kernels of packages that are written in AssemblyScript, if they have changed: every `assembly/index.ts`
// becomes the file `compiled.ts` beside its folder, which holds the modules as text, with the layout of the structures
// they are given. Nothing binary is committed.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readPackages, root } from './packages';

// No runtime and no memory of its own: the module works in the memory it is given.
const options = ['-O3', '--noAssert', '--runtime', 'stub', '--importMemory', '--enable', 'simd'];
const builds = { plain: [], relaxed: ['--enable', 'relaxed-simd', '--use', 'RELAXED=1'] };

/** Compiles what has changed since the last time. */
export async function compileWasm(): Promise<void> {
  const folders = readPackages(['packages']).flatMap(({ path, files }) =>
    files
      .filter((file) => /^src\/(.*\/)?assembly\/index\.ts$/.test(file))
      .map((file) => compileFolder(join(root, path), join(root, path, dirname(file)))),
  );
  await Promise.all(folders);
}

async function compileFolder(home: string, sources: string): Promise<void> {
  const target = join(dirname(sources), 'compiled.ts');
  const files = readdirSync(sources).map(
    (name) => [name, readFileSync(join(sources, name), 'utf8')] as const,
  );
  const stamp = createHash('sha256')
    .update(JSON.stringify([files, options, builds, readFileSync(fileURLToPath(import.meta.url), 'utf8')]))
    .digest('hex');
  const head = `// Written by scripts/compile-wasm.ts from the files of assembly/: ${stamp}\n`;
  if (existsSync(target) && readFileSync(target, 'utf8').startsWith(head)) return;
  const compiler = createRequire(join(home, 'package.json')).resolve('assemblyscript/bin/asc.js');
  const work = mkdtempSync(join(tmpdir(), 'polyhead-wasm-'));
  try {
    const modules = await Promise.all(
      Object.entries(builds).map(async ([name, extra]) => {
        const output = join(work, `${name}.wasm`);
        const input = join(sources, 'index.ts');
        await promisify(execFile)(process.execPath, [compiler, input, '-o', output, ...options, ...extra]);
        // Hexadecimal: base64 is shorter, but cuts bytes, and so a page that is sent compressed grows by a quarter.
        return `export const ${name} =\n  '${readFileSync(output, 'hex')}';\n`;
      }),
    );
    const source = files.find(([name]) => name === 'call.ts')?.[1] ?? '';
    writeFileSync(target, `${head}${modules.join('')}${layoutOf(source)}`);
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** The fields of the structures of a file, in their order: each is four bytes wide. */
function layoutOf(source: string): string {
  const structures = [...source.matchAll(/^export class (\w+) \{\n(.*?)^\}/gms)].map(([, name, body]) => {
    const fields = [...body!.matchAll(/^ {2}(\w+): (\w+);/gm)].map(
      ([, field, type]) => `${field}: '${type}'`,
    );
    return `  ${name}: { ${fields.join(', ')} },\n`;
  });
  return `export const structures = {\n${structures.join('')}} as const;\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await compileWasm();
