import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publishedModels } from './models';
import { fetchFrom, unzip } from './wheel';

/** A zip archive, as PKWARE's specification has it. */
function zipOf(files: Readonly<Record<string, { readonly data: Buffer; readonly method: 0 | 8 }>>): Buffer {
  const [locals, directory]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  for (const [name, { data, method }] of Object.entries(files)) {
    const packed = method === 8 ? deflateRawSync(data) : data;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), packed]);
    const entry = Buffer.alloc(46 - 4 - 2 - 26);
    entry.writeUInt32LE(offset, entry.length - 4);
    directory.push(
      Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, entry, Buffer.from(name)]),
    );
    locals.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

const text = Buffer.from('weights '.repeat(1000));
const archive = zipOf({
  'a/stored.bin': { data: text, method: 0 },
  'a/packed.bin': { data: text, method: 8 },
});
const wanted = {
  package: 'a',
  version: '1',
  sha256: createHash('sha256').update(archive).digest('hex'),
  size: '',
  file: '',
};

describe('unzip', () => {
  it('reads what is stored and what is deflated', () => {
    for (const name of ['a/stored.bin', 'a/packed.bin'])
      expect(Buffer.from(unzip(archive, name))).toEqual(text);
  });

  it('says what is not there', () => {
    expect(() => unzip(archive, 'b')).toThrow(/does not hold b/);
    expect(() => unzip(Buffer.from('no archive'), 'b')).toThrow(/does not hold b/);
  });
});

describe('an index without pip', () => {
  let server: Server;
  let index: string;
  let sent = archive;
  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === '/a/')
        response.end(JSON.stringify({ files: [{ url: '/file/a.whl', hashes: { sha256: wanted.sha256 } }] }));
      else if (request.url === '/file/a.whl')
        response.writeHead(200, { 'content-length': sent.length }).end(sent);
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    index = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
  });

  it('gives the wheel, with progress; another checksum, another file, no answer are told', async () => {
    const lines: string[] = [];
    expect(Buffer.from(await fetchFrom(wanted, index, (line) => lines.push(line)))).toEqual(archive);
    expect(lines.at(-1)).toMatch(/^100 % of/);
    sent = Buffer.from('something else');
    await expect(fetchFrom(wanted, index, () => {})).rejects.toThrow(/not the one that was pinned/);
    await expect(fetchFrom({ ...wanted, sha256: '0' }, index, () => {})).rejects.toThrow(/does not list/);
    await expect(fetchFrom({ ...wanted, package: 'b' }, index, () => {})).rejects.toThrow(/answers 404/);
    await expect(fetchFrom(wanted, 'http://127.0.0.1:1', () => {})).rejects.toThrow(/cannot be reached/);
  });
});

describe('the command', () => {
  const install = (args: readonly string[], env: Record<string, string> = {}) => {
    const script = fileURLToPath(new URL('install.ts', import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', script, ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    });
    return { status, stdout, stderr };
  };

  it.each([[[]], [['gpt-9']], [['smollm2', '--fast']]])('answers %j with 2 and its usage', (args) => {
    const { status, stderr } = install(args);
    expect(stderr).toContain('usage: pnpm model:install');
    expect(status).toBe(2);
  });

  it('says in one line what is missing, and leaves nothing', () => {
    const cache = mkdtempSync(join(tmpdir(), 'models-'));
    const env = { PYTHON: 'no-such-python', XDG_CACHE_HOME: cache };
    const possible = install(['annalog', '--if-possible'], env);
    expect(possible).toMatchObject({ status: 0, stderr: '' });
    expect(possible.stdout).toMatch(
      /^model: annalog: not installed: this machine lacks no-such-python with pip.*\n$/,
    );
    const { status, stderr } = install(['annalog'], env);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^model: annalog: not installed: this machine lacks .*\n$/);
    rmSync(cache, { recursive: true });
  });
});

it('pins every model by the checksum of its wheel', () => {
  for (const { sha256 } of Object.values(publishedModels)) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
});
