// Our code as applications run it. tsx names every closure as it is made, which costs a token a tenth to two fifths.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

// Packages that stay outside are found from here.
const folder = fileURLToPath(new URL('../../node_modules/.cache/polyhead', import.meta.url));

/** Written so that a bundle that holds this file, and makes bundles, has it too. */
const ownUrl = ['import', 'meta', 'url'].join('.');

/** What a file finds beside itself, it still finds there. */
const ownPlaces: Plugin = {
  name: 'own places',
  setup({ onLoad }) {
    onLoad({ filter: /(apps|scripts)\/.*\.ts$/ }, ({ path }) => {
      const url = JSON.stringify(pathToFileURL(path).href);
      const contents = readFileSync(path, 'utf8').replaceAll(ownUrl, url);
      return { loader: 'ts', contents };
    });
  },
};

/** What CommonJS finds in a file. */
const commonJs = [
  "import { createRequire as requireOf } from 'node:module';",
  "import { dirname as folderOf } from 'node:path';",
  "import { fileURLToPath as pathOf } from 'node:url';",
  `const require = requireOf(${ownUrl}), __filename = pathOf(${ownUrl}), __dirname = folderOf(__filename);`,
].join('\n');

/**
 * One file of a program, made of the sources of all packages as a bundler makes it for users.
 *
 * @param withTfjs TensorFlow.js is in it, from its ES modules, as in a page; else its files for Node stay outside
 * @returns its URL
 */
export async function bundled(program: URL, { withTfjs }: { readonly withTfjs: boolean }): Promise<string> {
  const source = fileURLToPath(program);
  const outfile = join(folder, basename(source).replace(/ts$/, 'mjs'));
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'es2022',
    conditions: ['@polyhead/source'],
    mainFields: ['module', 'main'],
    external: ['esbuild', ...(withTfjs ? [] : ['@tensorflow/*'])],
    plugins: [ownPlaces],
    banner: { js: commonJs },
    logLevel: 'error',
  });
  return pathToFileURL(outfile).href;
}
