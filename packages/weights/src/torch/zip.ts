// The directory of a zip file (PKWARE's APPNOTE.TXT, 4.3), as far as PyTorch writes it: entries that are stored as they are, and
// the wider fields of zip64.
import { UnsupportedError } from '@polyhead/core';
import { FileError } from '../errors';
import type { ByteSource } from '../files/byte-source';

/** An entry whose bytes lie in the file as they are. */
export interface ZipEntry {
  /** Where its local header begins. */
  readonly start: number;
  /** How many bytes it holds. */
  readonly byteLength: number;
}

const where = 'readTorch';
const longestComment = 2 ** 16 - 1;
const endLength = 22;
const locatorLength = 20;
const end64Length = 56;
const directoryLength = 46;
const localLength = 30;
const longestDirectory = 100_000_000;

/** Where the directory lies. */
interface Directory {
  readonly count: number;
  readonly length: number;
  readonly start: number;
}

/**
 * All entries by name.
 *
 * @throws FileError for what is no zip file, or a broken one
 * @throws UnsupportedError for compressed and encrypted entries
 */
export async function readDirectory(source: ByteSource): Promise<ReadonlyMap<string, ZipEntry>> {
  const { count, length, start } = await findDirectory(source);
  const isWithin = start + length <= source.size && count * directoryLength <= length;
  if (!isWithin || length > longestDirectory)
    throw fail('the directory must lie within the file, and have at most 100 MB', {
      entries: count,
      bytes: length,
      start,
    });
  const bytes = await source.readBytes(start, length);
  const entries = new Map<string, ZipEntry>();
  let at = 0;
  for (let n = 0; n < count; n++) {
    const { name, entry, next } = readEntry(bytes, at, source.size);
    if (entries.has(name)) throw fail('each entry must have a name of its own', { name });
    entries.set(name, entry);
    at = next;
  }
  return entries;
}

/** The bytes of an entry, or a part of them. */
export async function readEntryBytes(
  source: ByteSource,
  { start, byteLength }: ZipEntry,
  [from, length]: readonly [number, number] = [0, byteLength],
): Promise<Uint8Array> {
  const header = viewOf(await source.readBytes(start, localLength));
  if (header.getUint32(0, true) !== 0x04034b50) throw fail('an entry must begin with its header', { start });
  const data = start + localLength + header.getUint16(26, true) + header.getUint16(28, true);
  return source.readBytes(data + from, length);
}

async function findDirectory(source: ByteSource): Promise<Directory> {
  const length = Math.min(source.size, endLength + longestComment);
  const from = source.size - length;
  const tail = viewOf(await source.readBytes(from, length));
  let at = length - endLength;
  while (at >= 0 && !isEnd(tail, at)) at--;
  if (at < 0) {
    const rule = 'a file must be a zip, as torch.save writes it since PyTorch 1.6';
    throw fail(rule, { 'file size': source.size });
  }
  const directory = {
    count: tail.getUint16(at + 10, true),
    length: tail.getUint32(at + 12, true),
    start: tail.getUint32(at + 16, true),
  };
  const isWide =
    directory.count === 0xffff || directory.length === 0xffffffff || directory.start === 0xffffffff;
  return isWide ? findDirectory64(source, from + at) : directory;
}

/** The signature, and a comment that ends with the file. */
function isEnd(tail: DataView, at: number): boolean {
  return (
    tail.getUint32(at, true) === 0x06054b50 &&
    at + endLength + tail.getUint16(at + 20, true) === tail.byteLength
  );
}

async function findDirectory64(source: ByteSource, end: number): Promise<Directory> {
  const locator = viewOf(await source.readBytes(Math.max(0, end - locatorLength), locatorLength));
  if (locator.getUint32(0, true) !== 0x07064b50) throw fail('a zip64 file must have a locator', { end });
  const record = viewOf(await source.readBytes(wide(locator, 8), end64Length));
  if (record.getUint32(0, true) !== 0x06064b50) throw fail('a zip64 file must have an end record', { end });
  return { count: wide(record, 32), length: wide(record, 40), start: wide(record, 48) };
}

function readEntry(bytes: Uint8Array, at: number, fileSize: number) {
  if (at + directoryLength > bytes.length)
    throw fail('the directory must hold all entries', { position: at });
  const view = viewOf(bytes.subarray(at));
  if (view.getUint32(0, true) !== 0x02014b50)
    throw fail('the directory must consist of entries', { position: at });
  const [nameLength, extraLength, commentLength] = [28, 30, 32].map((place) =>
    view.getUint16(place, true),
  ) as [number, number, number];
  const extraAt = directoryLength + nameLength;
  const next = at + extraAt + extraLength + commentLength;
  if (next > bytes.length) throw fail('the directory must hold all entries', { position: at });
  const name = new TextDecoder().decode(bytes.subarray(at + directoryLength, at + extraAt));
  if (view.getUint16(10, true) !== 0 || view.getUint16(8, true) & 1)
    throw new UnsupportedError(where, 'entries must be stored as they are', [
      `${name} is compressed or encrypted`,
    ]);
  const { byteLength, start } = sizes(
    view,
    new DataView(bytes.buffer, bytes.byteOffset + at + extraAt, extraLength),
  );
  if (start + localLength + byteLength > fileSize)
    throw fail(`${name} must lie within the file`, { start, bytes: byteLength, 'file size': fileSize });
  return { name, entry: { start, byteLength }, next };
}

/** Sizes and place of an entry; those that 32 bits do not hold lie in the field 1 of its extra fields, in this order. */
function sizes(view: DataView, extra: DataView): ZipEntry {
  const narrow = {
    byteLength: view.getUint32(24, true),
    packed: view.getUint32(20, true),
    start: view.getUint32(42, true),
  };
  const { byteLength, packed, start } = narrow;
  if (![byteLength, packed, start].includes(0xffffffff)) return checkStored(byteLength, packed, start);
  for (let at = 0; at + 4 <= extra.byteLength; ) {
    const [id, length] = [extra.getUint16(at, true), extra.getUint16(at + 2, true)];
    if (at + 4 + length > extra.byteLength) break;
    if (id === 1) {
      let place = at + 4;
      const widened = [byteLength, packed, start].map((size) => {
        if (size !== 0xffffffff) return size;
        place += 8;
        if (place > at + 4 + length) throw fail('zip64 fields must hold all wide sizes', { length });
        return wide(extra, place - 8);
      }) as [number, number, number];
      return checkStored(...widened);
    }
    at += 4 + length;
  }
  throw fail('a wide entry must have zip64 fields', narrow);
}

function checkStored(byteLength: number, packed: number, start: number): ZipEntry {
  if (byteLength !== packed)
    throw fail('a stored entry must be as long as what it holds', { byteLength, packed });
  return { byteLength, start };
}

function wide(view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  if (value > Number.MAX_SAFE_INTEGER) throw fail('sizes and places must be below 2^53', { value });
  return Number(value);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function fail(rule: string, facts: Readonly<Record<string, unknown>>): FileError {
  return new FileError(where, rule, facts);
}
