// What docs/browser.md says, done: its files, built and served as it says, opened in Chromium.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build as bundleWithEsbuild } from 'esbuild';
import { type Browser, chromium } from 'playwright';
import { build as bundleWithVite, createServer, type InlineConfig } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isolation, launchOptions } from '../backends/chromium';
import { listDocuments } from '../document-examples';
import { root } from '../packages';
import { type Opened, openPage } from './open-page';
import { filesOf, makeProject } from './page-files';
import { type Headers, serveFolder } from './serve-folder';

const guide = 'docs/browser.md';
const textOf = (document: string) => readFileSync(join(root, document), 'utf8');
const files = filesOf(guide);
const works = 'flashWasm [1,5,64]';
const fails = /Initialization of backend wasm failed/;

let browser: Browser;
let project: string;

beforeAll(async () => {
  [browser, project] = await Promise.all([chromium.launch(launchOptions()), makeProject()]);
});
afterAll(async () => {
  await browser.close();
  rmSync(project, { recursive: true });
});

interface Page {
  /** Of the project, with what is served. */
  readonly folder: string;
  readonly file?: string;
  readonly headers?: Headers;
  readonly said?: RegExp;
}

async function open({ folder, file = '', headers, said }: Page): Promise<Opened> {
  const served = await serveFolder(join(project, folder), headers);
  try {
    return await openPage(browser, served.url + file, said && { said });
  } finally {
    served.close();
  }
}

const pageOf = (script: string) => files.get('index.html')!.replace('main.js', script);

const served = [
  ['plain', {}],
  ['isolated', isolation],
] as const;

describe('Vite', () => {
  const config = (): InlineConfig => ({ root: project, configFile: false, logLevel: 'error' });

  beforeAll(async () => {
    for (const name of ['one-thread', 'with-worker']) {
      writeFileSync(join(project, `${name}.html`), pageOf(`${name}.js`));
    }
    const input = ['index', 'one-thread', 'with-worker'].map((name) => join(project, `${name}.html`));
    await bundleWithVite({ ...config(), build: { outDir: 'vite', rollupOptions: { input } } });
  });

  it('serves the page while it is written', async () => {
    const cacheDir = join(root, 'node_modules/.cache/polyhead/pages');
    const access = { port: 0, fs: { allow: [project, root] } };
    const server = await createServer({ ...config(), cacheDir, server: access });
    try {
      await server.listen();
      expect((await openPage(browser, server.resolvedUrls!.local[0]!)).text).toBe(works);
    } finally {
      await server.close();
    }
  });

  it.each(served)('builds a page that runs, %s', async (_, headers) => {
    expect((await open({ folder: 'vite', headers })).text).toBe(works);
  });

  it.each(served)('builds a page with a worker, %s', async (_, headers) => {
    const page = { folder: 'vite', file: 'with-worker.html', headers };
    expect((await open(page)).text).toBe('flashWasm 320');
  });

  describe('with a content security policy', () => {
    const [, whole = ''] = /^Content-Security-Policy: (.*)$/m.exec(textOf(guide))!;
    const without = {
      nothing: whole,
      "'wasm-unsafe-eval'": whole.replace(" 'wasm-unsafe-eval'", ''),
      'blob: of worker-src': whole.replace("worker-src 'self' blob:", "worker-src 'self'"),
      'blob: of script-src': whole.replace("'wasm-unsafe-eval' blob:", "'wasm-unsafe-eval'"),
      'any blob:': whole.replaceAll(' blob:', ''),
    };
    const page = (left: keyof typeof without, headers: Headers) => ({
      folder: 'vite',
      headers: { ...headers, 'Content-Security-Policy': without[left] },
    });

    it('runs, threads and all', async () => {
      expect((await open(page('nothing', isolation))).text).toBe(works);
    });

    it.each([
      ["'wasm-unsafe-eval'", /violates the following Content Security Policy/i],
      ['blob: of worker-src', /Creating a worker from 'blob:.*violates/],
      ['blob: of script-src', /worker sent an error!.*'importScripts'.*failed to load/],
    ] as const)('without %s says so and does not run, isolated', async (left, said) => {
      expect(without[left]).not.toBe(whole);
      const opened = await open({ ...page(left, isolation), said });
      expect(opened).toEqual({ text: '', console: expect.stringMatching(said) });
    });

    it("without 'wasm-unsafe-eval' fails in a plain page, too", async () => {
      const opened = await open({ ...page("'wasm-unsafe-eval'", {}), said: fails });
      expect(opened).toEqual({ text: '', console: expect.stringMatching(fails) });
    });

    it('without blob: runs where there are no threads', async () => {
      expect((await open(page('any blob:', {}))).text).toBe(works);
      expect((await open({ ...page('any blob:', isolation), file: 'one-thread.html' })).text).toBe(works);
    });
  });
});

describe('esbuild', () => {
  async function bundle(contents: string, folder: string): Promise<void> {
    const outfile = join(project, folder, 'main.js');
    const stdin = { contents, resolveDir: project };
    await bundleWithEsbuild({ stdin, outfile, bundle: true, minify: true, format: 'esm', logLevel: 'error' });
    writeFileSync(join(project, folder, 'index.html'), pageOf('main.js'));
  }
  const main = files.get('main.js')!;

  it('takes a folder of copied files', async () => {
    await bundle(main.replace('wasm-files', 'wasm-folder'), 'esbuild');
    const backend = join(root, 'node_modules/@tensorflow/tfjs-backend-wasm/dist');
    mkdirSync(join(project, 'esbuild/wasm'));
    for (const name of ['', '-simd', '-threaded-simd'].map((kind) => `tfjs-backend-wasm${kind}.wasm`)) {
      cpSync(join(backend, name), join(project, 'esbuild/wasm', name), { dereference: true });
    }
    for (const [, headers] of served) expect((await open({ folder: 'esbuild', headers })).text).toBe(works);
  });

  // A hub shows the range of a part to pages of other origins, other servers do not.
  it.each([
    ['shown', { 'Access-Control-Expose-Headers': 'Content-Range' }],
    ['hidden', {}],
  ])('a page reads parts of a file of another origin, their range %s', async (name, shown) => {
    const folder = join(root, 'packages/transformer/src/fixtures/llama');
    const hub = await serveFolder(folder, { 'Access-Control-Allow-Origin': '*', ...shown });
    const code = `
      import { fromUrl, readSafetensors } from '@polyhead/weights';
      const file = await readSafetensors(await fromUrl('${hub.url}model.safetensors'));
      document.body.textContent = (await file.read('model.norm.weight')).join(' ');`;
    const last = readFileSync(join(folder, 'model.safetensors')).subarray(-24 * 4); // the file's last tensor
    const numbers = Array.from({ length: 24 }, (_, n) => last.readFloatLE(4 * n));
    await bundle(code, name);
    try {
      expect(await open({ folder: name })).toEqual({ text: numbers.join(' '), console: '' });
    } finally {
      hub.close();
    }
  });

  it('without the lines: one sees what the document says', async () => {
    await bundle(main.replace('./wasm-files.js', '@tensorflow/tfjs-backend-wasm'), 'without');
    const { text, console } = await open({ folder: 'without', said: /wasm does not start/ });
    expect(text).toBe('');
    expect(console).toMatch(/status of 404 .*tfjs-backend-wasm-simd\.wasm/);
    expect(console).toMatch(fails);
  });
});

it.each(served)('an import map does without a bundler, %s', async (_, headers) => {
  expect((await open({ folder: '', file: 'map.html', headers })).text).toBe(works);
});

it('webpack builds a page that runs, isolated, too', { timeout: 180_000 }, async ({ skip }) => {
  const tools = join(root, 'scripts/release/tools');
  if (!existsSync(join(tools, 'node_modules/webpack'))) skip('npx pnpm test:release installs webpack');
  const webpack = createRequire(join(tools, 'package.json'))('webpack');
  const { default: config } = await import(pathToFileURL(join(project, 'webpack.config.js')).href);
  const output = { path: join(project, 'webpack'), filename: '[name].js' };
  const entry = { main: config.entry, 'with-worker': './with-worker.js' };
  const compiler = webpack({ ...config, entry, context: project, output, performance: false });
  const built = await new Promise<{ hasErrors(): boolean; toString(of: string): string }>(
    (resolve, reject) => {
      compiler.run((error: Error | null, stats: never) => (error ? reject(error) : resolve(stats)));
    },
  );
  expect(built.hasErrors(), built.toString('errors-only')).toBe(false);
  for (const [file, script] of [
    ['index.html', 'main.js'],
    ['with-worker.html', 'with-worker.js'],
  ] as const) {
    writeFileSync(join(project, 'webpack', file), pageOf(script).replace('type="module"', 'defer'));
  }
  for (const [, headers] of served) {
    const page = { folder: 'webpack', headers };
    expect((await open(page)).text).toBe(works);
    expect((await open({ ...page, file: 'with-worker.html' })).text).toBe('flashWasm 320');
  }
});

it('the lines of the document stand in each README as they do there', () => {
  const documents = listDocuments().filter((path) => textOf(path).includes('setWasmPaths({'));
  expect(documents).toContain('README.md');
  for (const path of documents) expect(textOf(path)).toContain(files.get('wasm-files.js'));
});
