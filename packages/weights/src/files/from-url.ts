// A file behind an address, read by ranges: RFC 9110, section 14. Works in browsers, Node, and behind redirects.
import { FileError } from '../errors';
import type { ByteSource } from './byte-source';

const where = 'fromUrl';
/** Asked for at once: most headers lie within. */
const headLength = 2 ** 16;

/** A part of a file that is asked for. */
interface Wanted {
  readonly start: number;
  readonly length: number;
  /** Of the whole file, once it is known. */
  readonly size?: number;
}

/** A part of a file that a server gave, and what it says of the whole. */
interface Part {
  readonly bytes: Uint8Array;
  readonly size: number;
  /** Changes when the file does. */
  readonly version: string | null;
}

/**
 * A file behind an address, such as that of a file on a hub: only the parts that are read are fetched. Each part is asked for at
 * the address itself, so redirects that expire do no harm.
 *
 * @param init passed to `fetch`: headers for a file that is not public, a signal that ends all reading
 * @throws FileError where the server cannot be reached, gives no parts of files, or the file changes while it is read
 */
export async function fromUrl(address: string | URL, init: RequestInit = {}): Promise<ByteSource> {
  const head = await fetchPart(address, init, { start: 0, length: headLength });
  const { size, version } = head;
  return {
    size,
    async readBytes(start, length) {
      if (length === 0) return new Uint8Array(0);
      if (start + length <= head.bytes.length) return head.bytes.slice(start, start + length);
      const part = await fetchPart(address, init, { start, length, size });
      if (part.size !== size || part.version !== version)
        throw new FileError(where, 'the file must not change while it is read', { address: `${address}` });
      return part.bytes;
    },
  };
}

async function fetchPart(address: string | URL, init: RequestInit, wanted: Wanted): Promise<Part> {
  try {
    return await requestPart(address, init, wanted);
  } catch (error) {
    if (error instanceof FileError || init.signal?.aborted) throw error;
    const { message, cause } = error as Error;
    throw new FileError(where, 'the address must be within reach', {
      address: `${address}`,
      error: `${message} ${cause ?? ''}`,
    });
  }
}

async function requestPart(address: string | URL, init: RequestInit, wanted: Wanted): Promise<Part> {
  const { start, length } = wanted;
  const headers = new Headers(init.headers);
  headers.set('Range', `bytes=${start}-${start + length - 1}`);
  const response = await fetch(address, { ...init, headers });
  const { status } = response;
  const range = response.headers.get('Content-Range');
  const [from, to, size] = rangeOf(range) ?? [start, undefined, wanted.size ?? (await sizeOf(address, init))];
  const last = Math.min(start + length, size) - 1;
  const isPart = status === 206 && from === start && start <= last && (to ?? last) === last;
  if (!isPart) {
    await response.body?.cancel();
    throw new FileError(where, refusal(status, range === null), {
      address: `${address}`,
      status,
      'Content-Range': range,
      size,
    });
  }
  const version = response.headers.get('ETag') ?? response.headers.get('Last-Modified');
  return { bytes: await readBody(response, last - start + 1), size, version };
}

/** First and last place and the size of the whole; undefined where a browser may not see them, of another origin. */
function rangeOf(range: string | null): readonly [number, number, number] | undefined {
  if (range === null) return undefined;
  const [, from, to, size] = (/^bytes (\d+)-(\d+)\/(\d+)$/.exec(range) ?? []).map(Number);
  return [from ?? NaN, to ?? NaN, size ?? NaN];
}

/** Browsers always see the length of a whole file. */
async function sizeOf(address: string | URL, init: RequestInit): Promise<number> {
  const { headers } = await fetch(address, { ...init, method: 'HEAD' });
  return Number(headers.get('Content-Length') ?? NaN);
}

function refusal(status: number, isHidden: boolean): string {
  if (status === 200)
    return 'the server must give parts of files; this one gives the whole only: read `await (await fetch(address)).arrayBuffer()`';
  if (status === 206 && isHidden)
    return 'the server must show a page its Content-Range (Access-Control-Expose-Headers), or the length of the file';
  if (status === 206) return 'the server must give the part that was asked for';
  return 'the server must give the file';
}

/** However much a server sends: no more is kept than was asked for. */
async function readBody({ body }: Response, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let at = 0;
  const reader = body!.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (!done && at + value.length <= length) {
      bytes.set(value, at);
      at += value.length;
      continue;
    }
    if (done && at === length) return bytes;
    if (!done) await reader.cancel();
    throw new FileError(where, 'the server must send the part that it announces', {
      announced: length,
      came: at,
    });
  }
}
