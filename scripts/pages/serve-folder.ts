// A server of files, with the headers that are to be tried.
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

export type Headers = Readonly<Record<string, string>>;

const types: Headers = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };

export interface Served {
  readonly url: string;
  close(): void;
}

export function serveFolder(folder: string, headers: Headers = {}): Promise<Served> {
  const server = createServer(({ url = '/' }, answer) => {
    const { pathname } = new URL(url, 'http://localhost');
    if (pathname === '/favicon.ico') return answer.writeHead(204).end();
    const file = join(folder, normalize(pathname.replace(/\/$/, '/index.html')));
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return answer.writeHead(404).end();
    const type = types[extname(file)] ?? 'application/octet-stream';
    return answer.writeHead(200, { 'Content-Type': type, ...headers }).end(readFileSync(file));
  });
  return new Promise((resolve) => {
    server.listen(0, 'localhost', () => {
      const { port } = server.address() as AddressInfo;
      resolve({ url: `http://localhost:${port}/`, close: () => void server.close() });
    });
  });
}
