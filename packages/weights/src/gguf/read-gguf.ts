// GGUF (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), versions 2 and 3: counts, values by key, names and places of
// tensors, then their numbers.
import { UnsupportedError } from '@polyhead/core';
import { type Checkpoint, openCheckpoint, type StoredTensor } from '../checkpoint';
import { FileError } from '../errors';
import { type ByteSource, type FileLike, openSource } from '../files/byte-source';
import { Cursor, MoreBytesNeeded } from '../files/cursor';
import { readMetadata, readText } from './metadata';
import { type TensorType, tensorTypes } from './tensor-types';

const where = 'readGguf';
const firstRead = 2 ** 20;
const longestHeader = 100_000_000;

interface Header {
  readonly metadata: ReadonlyMap<string, unknown>;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

/**
 * Opens a GGUF file. Shapes have the outermost axis first, as everywhere here: the file has it last. Metadata are plain
 * numbers, texts, booleans and arrays; whole numbers beyond 2^53 are `bigint`.
 *
 * @throws FileError for a file that is broken, or of another format
 * @throws UnsupportedError for a version or a type of numbers that is not known
 */
export async function readGguf(file: FileLike): Promise<Checkpoint> {
  const source = await openSource(where, file);
  return openCheckpoint(source, { format: 'gguf', ...(await readHeader(source)) });
}

/** The header does not say how long it is: it is parsed, with more bytes where they do not suffice. */
async function readHeader(source: ByteSource): Promise<Header> {
  const limit = Math.min(source.size, longestHeader);
  let bytes = await source.readBytes(0, Math.min(limit, firstRead));
  for (;;) {
    try {
      return parseHeader(new Cursor(where, bytes, limit), source.size);
    } catch (error) {
      if (!(error instanceof MoreBytesNeeded)) throw error;
      const longer = new Uint8Array(Math.min(limit, Math.max(error.end, 4 * bytes.length)));
      longer.set(bytes);
      longer.set(await source.readBytes(bytes.length, longer.length - bytes.length), bytes.length);
      bytes = longer;
    }
  }
}

function parseHeader(cursor: Cursor, fileSize: number): Header {
  const magic = cursor.text(4, 'the magic');
  if (magic !== 'GGUF') throw new FileError(where, 'the file must begin with GGUF', { begins: magic });
  const version = cursor.uint32('the version');
  if (version !== 2 && version !== 3)
    throw new UnsupportedError(where, 'the version must be 2 or 3, little-endian', [`it is ${version}`]);
  const tensorCount = cursor.count('the number of tensors');
  const metadata = readMetadata(where, cursor);
  const infos = readInfos(cursor, tensorCount);
  const alignment = metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || !(alignment >= 1) || alignment % 1 !== 0 || alignment > 2 ** 20)
    throw new FileError(where, 'general.alignment must be a whole number from 1 to 2^20', { alignment });
  const base = Math.ceil(cursor.position / alignment) * alignment;
  const tensors = [...infos].map(([name, info]) => [name, { ...info, start: base + info.start }] as const);
  checkPlaces(tensors, fileSize);
  return { metadata, tensors: new Map(tensors) };
}

/** By name; `start` is still that behind the header. */
function readInfos(cursor: Cursor, count: number): ReadonlyMap<string, StoredTensor> {
  cursor.expect(count * 24, 'the list of tensors'); // each takes that much at least
  const types = tensorTypes();
  const infos = new Map<string, StoredTensor>();
  for (let n = 0; n < count; n++) {
    const name = readText(cursor, 'a tensor name');
    if (infos.has(name)) throw new FileError(where, 'each tensor must have a name of its own', { name });
    infos.set(name, readInfo(cursor, name, types));
  }
  return infos;
}

function readInfo(cursor: Cursor, name: string, types: ReadonlyMap<number, TensorType>): StoredTensor {
  const rank = cursor.uint32(`the rank of ${name}`);
  if (rank > 4) throw new FileError(where, `${name} must have at most 4 axes`, { rank });
  const shape = Array.from({ length: rank }, () => cursor.count(`the shape of ${name}`)).reverse();
  const id = cursor.uint32(`the type of ${name}`);
  const entry = types.get(id);
  if (!entry) {
    const known = [...types].map(([n, [typeName]]) => `${typeName} (${n})`).join(', ');
    throw new UnsupportedError(where, `${name} must have a known type`, [`type ${id} is none of ${known}`]);
  }
  const [type, numberType] = entry;
  const { blockSize, blockBytes } = numberType;
  if ((shape.at(-1) ?? 1) % blockSize !== 0)
    throw new FileError(where, `rows of ${name} must be whole blocks of ${blockSize}`, {
      shape,
      type,
    });
  const byteLength = (shape.reduce((size, n) => size * n, 1) / blockSize) * blockBytes;
  return { shape, type, byteLength, numberType, start: cursor.count(`the place of ${name}`) };
}

/** @throws FileError where tensors overlap, or lie outside of the file */
function checkPlaces(tensors: readonly (readonly [string, StoredTensor])[], fileSize: number): void {
  let end = 0;
  for (const [name, { start, byteLength, shape }] of [...tensors].sort(([, a], [, b]) => a.start - b.start)) {
    if (start < end || !(start + byteLength <= fileSize))
      throw new FileError(where, `${name} must lie within the file, beside other tensors`, {
        start,
        shape,
        bytes: byteLength,
        'free from': end,
        'file size': fileSize,
      });
    end = start + byteLength;
  }
}
