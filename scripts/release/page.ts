// Bundles in headless Chromium, on the wasm backend.
import { equal } from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { chromium } from 'playwright';
import { findChromium, isolation, launchOptions } from '../backends/chromium';
import { wasmFiles } from './bundles';
import { decoded } from './programs';
import type { Project } from './project';

/** @returns why they were not run; nothing where they were */
export async function runInChromium(project: Project, bundles: readonly string[]): Promise<string> {
  if (!findChromium()) return 'skipped: no Chromium is installed (apt-get install -y chromium)';
  const server = await serve(project);
  const browser = await chromium.launch(launchOptions());
  try {
    const { port } = server.address() as { readonly port: number };
    for (const bundle of bundles) {
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on('pageerror', (error) => problems.push(error.message));
      await page.goto(`http://127.0.0.1:${port}/page?${bundle}`);
      await page
        .waitForFunction(() => document.title !== '', undefined, { timeout: 60_000 })
        .catch(() => {
          throw new Error(`${bundle} says nothing: ${problems.join('; ').slice(0, 1000)}`);
        });
      equal(await page.title(), decoded, bundle);
      await page.close();
    }
  } finally {
    await browser.close();
    server.close();
  }
  return '';
}

const types: Readonly<Record<string, string>> = { js: 'text/javascript', wasm: 'application/wasm' };

/** `/page?FILE` loads the file as a module; `/wasm/` are the files of the wasm backend. */
async function serve({ folder }: Project): Promise<Server> {
  const server = createServer(async ({ url = '' }, response) => {
    const [path = '', bundle] = url.split('?');
    const file = path.startsWith('/wasm/') ? join(wasmFiles, path.slice('/wasm/'.length)) : path;
    const text = `<!doctype html><title></title><script type="module" src="/${bundle}"></script>`;
    const content = path === '/page' ? text : await readFile(join(folder, file)).catch(() => undefined);
    const type = path === '/page' ? 'text/html' : types[path.split('.').at(-1)!];
    response.writeHead(content === undefined ? 404 : 200, {
      'Content-Type': type ?? 'text/plain',
      ...isolation,
    });
    response.end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
