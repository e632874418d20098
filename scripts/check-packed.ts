// Packs the published packages, installs them in an empty folder as a user would, and uses them there.
import { deepEqual, equal } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as bundleWithEsbuild } from 'esbuild';
import { build as bundleWithVite } from 'vite';
import { examplesOf } from './document-examples';
import { asModule, asScript } from './example-programs';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = join(root, 'node_modules/.bin');
const consumer = mkdtempSync(join(tmpdir(), 'polyhead-consumer-'));
const { version: tfjs } = JSON.parse(
  readFileSync(join(root, 'node_modules/@tensorflow/tfjs-core/package.json'), 'utf8'),
);

function run(command: string, args: readonly string[], cwd = consumer): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: 'pipe' });
}

function pack(folder: string): string {
  const cwd = join(root, 'packages', folder);
  const packed = JSON.parse(run(join(bin, 'pnpm'), ['pack', '--json', '--pack-destination', consumer], cwd));
  return packed.filename;
}

function installPacked(): void {
  const published = readdirSync(join(root, 'packages')).filter(
    (folder) => !JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8')).private,
  );
  write('package.json', JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  install([`@tensorflow/tfjs-backend-wasm@${tfjs}`, ...published.map(pack)]);
}

function install(packages: readonly string[]): void {
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages]);
}

function write(file: string, text: string): void {
  writeFileSync(join(consumer, file), text);
}

/** One engine, nothing native. */
function checkTree(): void {
  const tree = readdirSync(join(consumer, 'node_modules'), { recursive: true, encoding: 'utf8' });
  const engines = tree.filter((path) => path.endsWith('@tensorflow/tfjs-core/package.json'));
  deepEqual(engines, ['@tensorflow/tfjs-core/package.json']);
  deepEqual(
    tree.filter((path) => path.endsWith('.node') || /tfjs-node(-gpu)?$/.test(path)),
    [],
  );
}

/** The README's example, by `import` and by `require`, prints what it says. */
function runExample(): void {
  const [example] = examplesOf('README.md');
  if (!example) throw new Error('README.md has no example');
  write('example.js', asModule(example.code));
  write('example.cjs', asScript(example.code));
  for (const file of ['example.js', 'example.cjs']) {
    deepEqual(run(process.execPath, [file]).trim().split('\n'), example.prints, file);
  }
}

/** The declarations as built serve a strict program that resolves as Node does. */
function checkTypes(): void {
  const [example] = examplesOf('README.md');
  write('example.ts', example?.code ?? '');
  write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        target: 'ES2022',
        module: 'NodeNext',
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        skipLibCheck: true, // tfjs-core's own declarations need it
        types: [],
      },
      files: ['example.ts', 'wrong.ts'],
    }),
  );
  // Declarations that resolve to `any` would let this pass.
  write(
    'wrong.ts',
    "import { MultiHeadAttention } from '@polyhead/multi-head';\n" +
      '// @ts-expect-error the config must be typed\n' +
      "new MultiHeadAttention({ embedDim: 'wide', numHeads: 1 });\n",
  );
  run(join(bin, 'tsc'), ['-p', consumer]);
}

/** Bundled for training, the packages share one engine with a backend and with tfjs's gradients. */
async function checkBundle(): Promise<void> {
  install([`@tensorflow/tfjs@${tfjs}`]);
  checkTree();
  write(
    'bundled.js',
    `import * as tf from '@tensorflow/tfjs';
     import { MultiHeadAttention } from '@polyhead/multi-head';
     tf.setBackend('cpu').then(() => {
       const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 });
       const { grads } = tf.variableGrads(() => tf.sum(layer.apply({ query: tf.ones([1, 3, 4]) }).output));
       console.log(tf.getBackend(), Object.keys(grads).length);
     });`,
  );
  await bundleWithEsbuild({
    entryPoints: [join(consumer, 'bundled.js')],
    outfile: join(consumer, 'esbuild.cjs'),
    bundle: true,
    platform: 'node',
    mainFields: ['module', 'main'], // the ES modules of tfjs, which bundlers for browsers take
    logLevel: 'error',
  });
  await bundleWithVite({
    root: consumer,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    resolve: { mainFields: ['module', 'main'] },
    build: {
      ssr: 'bundled.js',
      outDir: '.',
      emptyOutDir: false,
      rollupOptions: { output: { format: 'cjs', entryFileNames: 'vite.cjs' } },
    },
  });
  for (const file of ['esbuild.cjs', 'vite.cjs']) equal(run(process.execPath, [file]).trim(), 'cpu 4', file);
}

try {
  installPacked();
  checkTree();
  runExample();
  checkTypes();
  await checkBundle();
  console.log('packed, installed, run by import and by require, type-checked and bundled');
} finally {
  rmSync(consumer, { recursive: true, force: true });
}
