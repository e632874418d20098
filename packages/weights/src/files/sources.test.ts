// The same file from bytes, a Blob, an open file, and ranges of an address.
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FileError } from '../errors';
import { readSafetensors } from '../safetensors/read-safetensors';
import { writeSafetensors } from '../safetensors/write-safetensors';
import type { FileLike } from './byte-source';
import { fromUrl } from './from-url';

// Larger than what is asked for at first.
const numbers = Float32Array.from({ length: 40_000 }, (_, n) => Math.sin(n));
const file = writeSafetensors([
  ['small', { shape: [2], numbers: numbers.slice(0, 2) }],
  ['large', { shape: [200, 200], numbers }],
]);

async function expectFile(source: FileLike): Promise<void> {
  const checkpoint = await readSafetensors(source);
  expect([...(await checkpoint.read('small'))]).toEqual([...numbers.slice(0, 2)]);
  const large = await checkpoint.read('large');
  expect(Buffer.compare(Buffer.from(large.buffer), Buffer.from(numbers.buffer))).toBe(0);
}

describe('a file is read', () => {
  it('from bytes, a buffer, and a part of one', async () => {
    await expectFile(file);
    await expectFile(file.buffer as ArrayBuffer);
    await expectFile(Buffer.from([0, ...file]).subarray(1));
  });

  it('from a Blob', async () => {
    await expectFile(new Blob([file as Uint8Array<ArrayBuffer>]));
  });

  it('from an open file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weights-'));
    await writeFile(join(folder, 'model.safetensors'), file);
    const handle = await open(join(folder, 'model.safetensors'));
    await expectFile(handle);
    await handle.close();
    await expect(readSafetensors(handle)).rejects.toThrow(); // closed
    await rm(folder, { recursive: true });
  });

  it('from a source of its own, which must give what was asked for', async () => {
    const { length: size } = file;
    await expectFile({ size, readBytes: async (start, length) => file.slice(start, start + length) });
    const short = readSafetensors({ size, readBytes: async () => new Uint8Array(1) });
    await expect(short).rejects.toThrow(/must give the bytes that were asked for/);
    const failing = readSafetensors({ size, readBytes: () => Promise.reject(new Error('no disk')) });
    await expect(failing).rejects.toThrow(/cannot be read[\s\S]*no disk/);
    await expect(readSafetensors({ size: NaN, readBytes: async () => file })).rejects.toThrow(FileError);
  });
});

describe('fromUrl', () => {
  let server: Server;
  let address = '';
  const ranges: string[] = [];
  let version = '"1"';

  const answers: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
    '/file': serveRange,
    '/moved': (_, response) => response.writeHead(302, { Location: '/file' }).end(),
    // What a browser sees of another origin that does not show its ranges.
    '/hidden': (request, response) => {
      if (request.method === 'HEAD') return response.writeHead(200, { 'Content-Length': file.length }).end();
      const [, from, to] = (/^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []).map(Number);
      return response.writeHead(206).end(file.slice(from, to! + 1));
    },
    '/hidden-size': (_, response) => response.writeHead(206).end(file.slice(0, 10)),
    '/whole': (_, response) => response.writeHead(200).end(file),
    '/other-part': (_, response) =>
      response.writeHead(206, { 'Content-Range': `bytes 1-9/${file.length}` }).end(file.slice(1, 10)),
    '/no-size': (_, response) =>
      response.writeHead(206, { 'Content-Range': 'bytes 0-3/*' }).end(file.slice(0, 4)),
    '/too-much': (_, response) => response.writeHead(206, { 'Content-Range': 'bytes 0-3/4' }).end(file),
    '/reset': (_, response) => {
      response.writeHead(206, { 'Content-Range': 'bytes 0-99/100', 'Content-Length': '100' });
      response.write(file.slice(0, 50), () => response.destroy());
    },
    '/cut': (_, response) =>
      response.writeHead(206, { 'Content-Range': 'bytes 0-99/100' }).end(file.slice(0, 50)),
    '/private': (request, response) =>
      request.headers.authorization === 'Bearer key'
        ? serveRange(request, response)
        : response.writeHead(401).end(),
  };

  function serveRange(request: IncomingMessage, response: ServerResponse): void {
    const { range = '' } = request.headers;
    ranges.push(range);
    const [, from, to] = (/^bytes=(\d+)-(\d+)$/.exec(range) ?? []).map(Number);
    const end = Math.min(to!, file.length - 1);
    response.writeHead(206, { 'Content-Range': `bytes ${from}-${end}/${file.length}`, ETag: version });
    response.end(file.slice(from!, end + 1));
  }

  beforeAll(async () => {
    server = createServer((request, response) => {
      const answer = answers[request.url ?? ''];
      if (answer) answer(request, response);
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('asks for the parts that are read only', async () => {
    ranges.length = 0;
    await expectFile(await fromUrl(`${address}/file`));
    expect(ranges).toHaveLength(2); // the beginning, which holds the header and the small tensor; the large tensor
    expect(ranges[0]).toBe('bytes=0-65535');
  });

  it('follows redirects, and sends the headers that it is given', async () => {
    await expectFile(await fromUrl(new URL(`${address}/moved`)));
    await expectFile(await fromUrl(`${address}/private`, { headers: { Authorization: 'Bearer key' } }));
    await expect(fromUrl(`${address}/private`)).rejects.toThrow(/status +401/);
  });

  it('refuses servers that give no parts, or others than were asked for', async () => {
    await expect(fromUrl(`${address}/whole`)).rejects.toThrow(/gives the whole only/);
    await expect(fromUrl(`${address}/other-part`)).rejects.toThrow(/the part that was asked for/);
    await expect(fromUrl(`${address}/no-size`)).rejects.toThrow(/the part that was asked for/);
    await expect(fromUrl(`${address}/too-much`)).rejects.toThrow(/the part that it announces/);
    await expect(fromUrl(`${address}/cut`)).rejects.toThrow(/the part that it announces/);
    await expect(fromUrl(`${address}/missing`)).rejects.toThrow(/status +404/);
    for (const gone of [`${address}/reset`, 'http://127.0.0.1:1/file', 'no address'])
      await expect(fromUrl(gone)).rejects.toThrow(FileError);
  });

  it('reads parts whose range and size are hidden, if the whole length can be had', async () => {
    await expectFile(await fromUrl(`${address}/hidden`));
    await expect(fromUrl(`${address}/hidden-size`)).rejects.toThrow(/must show a page its Content-Range/);
  });

  it('notices a file that changes', async () => {
    const checkpoint = await readSafetensors(await fromUrl(`${address}/file`));
    version = '"2"';
    await expect(checkpoint.read('large')).rejects.toThrow(/must not change/);
    version = '"1"';
  });

  it('ends with a signal', async () => {
    const control = new AbortController();
    const source = await fromUrl(`${address}/file`, { signal: control.signal });
    control.abort(new Error('enough'));
    const checkpoint = await readSafetensors(source);
    await expect(checkpoint.read('large')).rejects.toThrow('enough');
  });
});
