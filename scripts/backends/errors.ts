// What went wrong, in few words.

/** Of the message of what was thrown. */
export const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!;

/**
 * An error that nobody catches is printed with its stack, and ends the process with code 1. Without this, where TensorFlow.js's
 * backend `wasm` was loaded, Node prints 30,000 characters of that backend's source: its handler throws the error on.
 */
export function printUncaughtErrors(): void {
  process.prependListener('uncaughtException', (error: unknown) => {
    console.error((error instanceof Error && error.stack) || String(error));
    process.exit(1);
  });
}
