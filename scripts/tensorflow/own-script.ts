// The install script of the package: it downloads a library and an addon from where their makers keep them.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { addonFile } from '../backends/tensorflow';
import { packageFolder } from './addon';
import type { Kind } from './library';
import { say } from './tools';

const secondsToBegin = 10; // with the first bytes: some networks answer nothing at all
const secondsToEnd = 600;

/** @returns whether it has left an addon */
export async function runOwnScript(kind: Kind): Promise<boolean> {
  const folder = packageFolder();
  say(`trying the package's own install script; it checks no checksums`);
  rmSync(join(folder, addonFile), { force: true });
  const child = spawn(process.execPath, ['scripts/install.js', kind, 'download'], {
    cwd: folder,
    env: { ...process.env, PATH: [join(folder, 'node_modules/.bin'), process.env.PATH].join(delimiter) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += text;
  });
  const start = performance.now();
  const watch = setInterval(() => {
    const seconds = (performance.now() - start) / 1000;
    const bytes = bytesIn(join(folder, 'deps'));
    if ((bytes === 0 && seconds >= secondsToBegin) || seconds >= secondsToEnd) child.kill();
    else if (bytes > 0) say(`its own script has unpacked ${Math.round(bytes / 1e6)} MB`);
  }, 5000);
  const [status, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.once('close', (...ended) => resolve(ended)),
  );
  clearInterval(watch);
  if (status === 0 && existsSync(join(folder, addonFile))) return true;
  const reason = errors.match(/^\w*Error: .*/m)?.[0] ?? `it ended with ${status ?? signal}`;
  say(`its own script did not succeed: ${signal ? 'nothing came in time' : reason}`);
  rmSync(join(folder, 'deps'), { recursive: true, force: true });
  return false;
}

function bytesIn(folder: string): number {
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((total, entry) => total + statSync(join(entry.parentPath, entry.name)).size, 0);
}
