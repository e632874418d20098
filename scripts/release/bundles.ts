// Bundles of a fresh project: by four bundlers for a page, and by esbuild for Node.
import { equal } from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { run } from './command';
import { decoded, nodeProgram, pageProgram } from './programs';
import { type Project, printed, write } from './project';
import { type NodeVersion, root, toolFile } from './tools';

/** Where `tfjs-backend-wasm*.wasm` lie in a project. */
export const wasmFiles = 'node_modules/@tensorflow/tfjs-backend-wasm/dist';

/** Each writes `built/NAME.js` out of `page.js`. */
const bundlers: Readonly<Record<string, (project: Project) => void>> = {
  esbuild(project) {
    const options = [
      '--bundle',
      '--format=esm',
      '--minify',
      '--outfile=built/esbuild.js',
      '--log-level=error',
    ];
    runHere(project, toolFile('esbuild', 'bin/esbuild'), ['page.js', ...options], { isScript: false });
  },
  vite(project) {
    write(project, 'vite.config.js', viteConfig);
    runHere(project, toolFile('vite', 'bin/vite.js'), ['build', '--logLevel', 'error']);
  },
  rollup(project) {
    const file = (name: string) => JSON.stringify(pathToFileURL(toolFile(name, 'dist/es/index.js')).href);
    write(
      project,
      'rollup.config.js',
      `import nodeResolve from ${file('@rollup/plugin-node-resolve')};
       import commonjs from ${file('@rollup/plugin-commonjs')};
       const plugins = [nodeResolve({ browser: true, preferBuiltins: false }), commonjs()];
       const output = { file: 'built/rollup.js', format: 'es', inlineDynamicImports: true };
       export default { input: 'page.js', plugins, output };`,
    );
    runHere(project, toolFile('rollup', 'dist/bin/rollup'), ['--config', '--silent']);
  },
  webpack(project) {
    write(
      project,
      'build-webpack.mjs',
      `import webpack from ${JSON.stringify(pathToFileURL(toolFile('webpack', 'lib/index.js')).href)};
       import { resolve } from 'node:path';
       const output = { path: resolve('built'), filename: 'webpack.js' };
       const optimization = { minimizeOptions: { javascript: { compress: { typeofs: false } } } }; // docs/browser.md
       const options = { mode: 'production', entry: './page.js', output, optimization, performance: false };
       webpack(options, (error, stats) => {
         const problem = error ?? (stats.hasErrors() ? stats.toString('errors-only') : undefined);
         if (problem) { console.error(problem); process.exitCode = 1; }
       });`,
    );
    runHere(project, 'build-webpack.mjs', []);
  },
};

const viteConfig = `export default {
  build: {
    outDir: 'built',
    emptyOutDir: false,
    target: 'es2022',
    rollupOptions: { input: 'page.js', output: { entryFileNames: 'vite.js', inlineDynamicImports: true } },
  },
};`;

function runHere(
  { folder }: Project,
  file: string,
  args: readonly string[],
  { isScript } = { isScript: true },
): void {
  const [command, ...rest] = isScript ? [process.execPath, file, ...args] : [file, ...args];
  run(command!, rest, { cwd: folder });
}

/** @returns the bundles, from the folder of the project */
export function bundleForPage(project: Project): string[] {
  write(project, 'page.js', pageProgram('/wasm/'));
  mkdirSync(join(project.folder, 'built'), { recursive: true });
  return Object.entries(bundlers).map(([name, bundle]) => {
    bundle(project);
    const file = `built/${name}.js`;
    checkOneEngine(project, file);
    return file;
  });
}

/** A sentence that the engine has in it once. */
function checkOneEngine({ folder }: Project, file: string): void {
  const text = readFileSync(join(folder, file), 'utf8');
  equal(text.split('Overwriting the platform with').length - 1, 1, `engines in ${file}`);
}

/** As CommonJS, and as an ES module, with what TensorFlow.js expects of CommonJS as docs/install.md has it. */
export function bundleForNode(project: Project, node: NodeVersion): void {
  write(project, 'node.js', nodeProgram(`${join(project.folder, wasmFiles)}/`));
  const banner = readFileSync(join(root, 'docs/install.md'), 'utf8').match(/--banner:js="(.*)"/)![1];
  const formats = {
    'built/node.cjs': ['--format=cjs'],
    'built/node.mjs': ['--format=esm', `--banner:js=${banner}`],
  };
  for (const [file, options] of Object.entries(formats)) {
    const args = [
      'node.js',
      '--bundle',
      '--platform=node',
      '--log-level=error',
      `--outfile=${file}`,
      ...options,
    ];
    runHere(project, toolFile('esbuild', 'bin/esbuild'), args, { isScript: false });
    checkOneEngine(project, file);
    equal(printed(project, file, node).at(-1), decoded, file);
  }
}
