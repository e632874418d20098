// Every example of every document runs, on both backends, and prints what its comments say; the kernel `flash` is that of
// the backend.
import { format } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { exampleModule, examplesOf, listDocuments, missingFor } from '../scripts/document-examples';

const backend = process.env.POLYHEAD_BACKEND ?? 'cpu';
const kernel = backend === 'wasm' ? 'flashWasm' : 'flashCpu';

afterEach(() => vi.restoreAllMocks());

/** Guides train layers: once is enough. */
const isRunHere = (document: string) => backend === 'wasm' || !document.startsWith('docs/guide/');

describe.each(listDocuments().filter(isRunHere).flatMap(examplesOf))('$document line $line', (example) => {
  it('prints what it says', { timeout: 120_000 }, async ({ skip }) => {
    const missing = missingFor(example, backend);
    if (missing) skip(missing);
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    await import(/* @vite-ignore */ exampleModule(example, backend));
    expect(example.prints).not.toEqual([]);
    expect(log.mock.calls.map((values) => format(...values))).toEqual(
      example.prints.map((line) => line.replace('flashWasm', kernel)),
    );
  });
});
