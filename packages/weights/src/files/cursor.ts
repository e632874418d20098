// Reads the beginning of a file value by value. It never passes the file's end, and asks for more where only the beginning is at hand.
import { FileError } from '../errors';

/** Thrown where the bytes at hand end before the value that is read: not an error of the file. */
export class MoreBytesNeeded extends Error {
  /** @param end how many bytes from the beginning the value needs */
  constructor(readonly end: number) {
    super('more bytes are needed');
  }
}

// A byte order mark is a character like others: vocabularies have it as a token.
const decoder = /* @__PURE__ */ new TextDecoder('utf-8', { ignoreBOM: true });

/** A place in bytes that only goes forward. */
export class Cursor {
  private at = 0;
  private readonly view: DataView;

  /**
   * @param bytes the first ones of a file
   * @param limit where what is read must end: at the file's end, or before
   */
  constructor(
    private readonly where: string,
    private readonly bytes: Uint8Array,
    private readonly limit: number,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** From the beginning of the file. */
  get position(): number {
    return this.at;
  }

  /**
   * Judges that so many bytes come, before anything is allocated for them.
   *
   * @throws FileError where the file has no more
   */
  expect(length: number, what: string): void {
    const end = this.at + length;
    if (!(length >= 0) || end > this.limit)
      throw new FileError(this.where, `${what} must end within the file, and its header within 100 MB`, {
        position: this.at,
        bytes: length,
        end: this.limit,
      });
    if (end > this.bytes.length) throw new MoreBytesNeeded(end);
  }

  /** The next `length` bytes, read by `read` from where they begin. */
  take<T>(length: number, what: string, read: (view: DataView, at: number) => T): T {
    this.expect(length, what);
    const value = read(this.view, this.at);
    this.at += length;
    return value;
  }

  /** 32 bits, little-endian. */
  uint32(what: string): number {
    return this.take(4, what, (view, at) => view.getUint32(at, true));
  }

  /**
   * 64 bits, little-endian: a count or a place.
   *
   * @throws FileError above 2^53, where numbers are not exact
   */
  count(what: string): number {
    const count = this.take(8, what, (view, at) => view.getBigUint64(at, true));
    if (count > Number.MAX_SAFE_INTEGER)
      throw new FileError(this.where, `${what} must be below 2^53`, { count, position: this.at - 8 });
    return Number(count);
  }

  /** The next `length` bytes as UTF-8. */
  text(length: number, what: string): string {
    return this.take(length, what, (_, at) => decoder.decode(this.bytes.subarray(at, at + length)));
  }
}
