import { AttentionError } from '@polyhead/core';

/** A file is broken, is of another format, or cannot be reached: the message names the place. */
export class FileError extends AttentionError {
  /** The name of its class. */
  override readonly name = 'FileError';
}
