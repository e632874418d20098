// Where the bytes of a file come from. Only parts of it are read: a header when it is opened, then one tensor at a time.
import { FileError } from '../errors';

/** A file of known size, of which parts can be read. */
export interface ByteSource {
  /** In bytes. */
  readonly size: number;
  /** Gives exactly `length` bytes from `start` on, which nobody else changes. */
  readBytes(start: number, length: number): Promise<Uint8Array>;
}

/** A file that Node has opened: what `open` of `node:fs/promises` gives. Whoever opened it closes it. */
export interface OpenFile {
  /** Its size, in bytes. */
  stat(): Promise<{ readonly size: number }>;
  /** Reads into `buffer` from a position of the file on. */
  read(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
}

/** What the readers take: bytes, a `Blob` or `File`, an open file of Node, or any source, such as `fromUrl` gives. */
export type FileLike = Uint8Array | ArrayBuffer | Blob | OpenFile | ByteSource;

/**
 * @param where the function that reads, for errors
 * @throws FileError for what is no file
 */
export async function openSource(where: string, file: FileLike): Promise<ByteSource> {
  const source = await sourceOf(where, file);
  if (!Number.isSafeInteger(source.size) || source.size < 0)
    throw new FileError(where, 'the size of a file must be a whole number', { size: source.size });
  return { size: source.size, readBytes: (start, length) => readExactly(where, source, [start, length]) };
}

async function sourceOf(where: string, file: FileLike): Promise<ByteSource> {
  if (file instanceof ArrayBuffer) return ofBytes(new Uint8Array(file));
  // Also those of other windows.
  if (ArrayBuffer.isView(file)) return ofBytes(new Uint8Array(file.buffer, file.byteOffset, file.byteLength));
  if (typeof Blob === 'function' && file instanceof Blob) return ofBlob(file);
  if (isObject(file) && 'stat' in file && typeof file.read === 'function') return ofOpenFile(file);
  if (isObject(file) && 'size' in file && typeof file.readBytes === 'function') return file;
  const rule =
    'a file must be bytes, a Blob, an open file (`await open(path)` of node:fs/promises), or `await fromUrl(address)`';
  throw new FileError(where, rule, { file });
}

function isObject(value: unknown): value is OpenFile | ByteSource {
  return typeof value === 'object' && value !== null;
}

function ofBytes(bytes: Uint8Array): ByteSource {
  return {
    size: bytes.length,
    // Of the type's own: what `slice` of Node's Buffer gives is no copy.
    readBytes: async (start, length) => Uint8Array.prototype.slice.call(bytes, start, start + length),
  };
}

function ofBlob(blob: Blob): ByteSource {
  return {
    size: blob.size,
    readBytes: async (start, length) => new Uint8Array(await blob.slice(start, start + length).arrayBuffer()),
  };
}

async function ofOpenFile(file: OpenFile): Promise<ByteSource> {
  const { size } = await file.stat();
  return {
    size,
    async readBytes(start, length) {
      const bytes = new Uint8Array(length);
      let at = 0;
      while (at < length) {
        const { bytesRead } = await file.read(bytes, at, length - at, start + at);
        if (bytesRead === 0) break;
        at += bytesRead;
      }
      return bytes.subarray(0, at);
    },
  };
}

/** Judges what is asked before anything is allocated for it, and what came. */
async function readExactly(
  where: string,
  source: ByteSource,
  [start, length]: readonly [number, number],
): Promise<Uint8Array> {
  const { size } = source;
  const isWithin = [start, length].every((n) => Number.isSafeInteger(n) && n >= 0) && start + length <= size;
  if (!isWithin) throw new FileError(where, 'the file ends too early', { start, length, 'file size': size });
  const bytes = await source.readBytes(start, length).catch((error: unknown) => {
    throw error instanceof FileError
      ? error
      : new FileError(where, 'the file cannot be read', { start, length, error: `${error}` });
  });
  if (!(bytes instanceof Uint8Array) || bytes.length !== length)
    throw new FileError(where, 'a source must give the bytes that were asked for', {
      start,
      length,
      came: bytes?.length,
    });
  return bytes;
}
