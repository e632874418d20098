// A server of files and of their parts, with the headers that are to be tried.
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
  const server = createServer(({ url = '/', headers: requested }, answer) => {
    const { pathname } = new URL(url, 'http://localhost');
    if (pathname === '/favicon.ico') return answer.writeHead(204).end();
    const file = join(folder, normalize(pathname.replace(/\/$/, '/index.html')));
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return answer.writeHead(404).end();
    const type = types[extname(file)] ?? 'application/octet-stream';
    const bytes = readFileSync(file);
    const head = { 'Content-Type': type, 'Content-Length': bytes.length, ...headers };
    const [, from, to] = (/^bytes=(\d+)-(\d+)$/.exec(requested.range ?? '') ?? []).map(Number);
    if (from === undefined || to === undefined) return answer.writeHead(200, head).end(bytes);
    const part = bytes.subarray(from, to + 1);
    const range = `bytes ${from}-${from + part.length - 1}/${bytes.length}`;
    return answer
      .writeHead(206, { ...head, 'Content-Length': part.length, 'Content-Range': range })
      .end(part);
  });
  return new Promise((resolve) => {
    server.listen(0, 'localhost', () => {
      const { port } = server.address() as AddressInfo;
      resolve({ url: `http://localhost:${port}/`, close: () => void server.close() });
    });
  });
}
