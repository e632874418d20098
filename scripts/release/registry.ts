// A registry on this machine that holds the packages of the repository; all others come from the configured one.
import { spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { toolFile } from './tools';

export interface Registry {
  readonly url: string;
  /** The lines of an `.npmrc` by which npm and pnpm use it. */
  readonly npmrc: string;
  stop(): void;
}

export async function startRegistry(folder: string): Promise<Registry> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  // JSON is YAML.
  writeFileSync(
    config,
    JSON.stringify({
      storage: join(folder, 'storage'),
      auth: { htpasswd: { file: join(folder, 'htpasswd'), max_users: -1 } },
      packages: { '@polyhead/*': { access: '$all', publish: '$all' } },
      max_body_size: '100mb',
      web: { enable: false },
    }),
  );
  const log = join(folder, 'log.txt');
  const output = openSync(log, 'w');
  const args = [toolFile('verdaccio', 'bin/verdaccio'), '--config', config, '--listen', `127.0.0.1:${port}`];
  const server = spawn(process.execPath, args, { stdio: ['ignore', output, output] });
  const url = `http://127.0.0.1:${port}/`;
  const stop = () => void server.kill();
  for (let tries = 0; !(await answers(url)); tries++) {
    if (tries < 120 && server.exitCode === null) await wait(500);
    else {
      stop();
      throw new Error(`the registry does not start\n${readFileSync(log, 'utf8').slice(-2000)}`);
    }
  }
  const npmrc = `@polyhead:registry=${url}\n//127.0.0.1:${port}/:_authToken=anybody\n`;
  return { url, npmrc, stop };
}

async function answers(url: string): Promise<boolean> {
  return fetch(`${url}-/ping`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
