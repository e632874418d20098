import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { UsageError } from '../command-line/errors';
import { readResult } from './read-result';

const sample = fileURLToPath(new URL('fixtures/sample.json', import.meta.url));
// biome-ignore lint/suspicious/noExplicitAny: it is spoiled on purpose
const parsed = (): any => JSON.parse(readFileSync(sample, 'utf8'));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'polyhead-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Of a file that holds the sample, changed. */
// biome-ignore lint/suspicious/noExplicitAny: it is spoiled on purpose
function readChanged(change: (result: any) => void) {
  const result = parsed();
  change(result);
  const path = join(folder, 'changed.json');
  writeFileSync(path, JSON.stringify(result));
  return readResult(path);
}

it('reads all that was written, a section of a later version included', () => {
  expect(readResult(sample)).toEqual(parsed());
  expect(readChanged((result) => (result.pictures = [1, 2]))).toHaveProperty('pictures', [1, 2]);
});

it.each<[string, (result: ReturnType<typeof parsed>) => unknown, RegExp]>([
  ['another format', (r) => (r.format = 'other'), /"format" must be "polyhead-bench", but is "other"/],
  ['no format', (r) => delete r.format, /but is null/],
  ['another version', (r) => (r.version = 2), /has version 2 of the results of bench: this bench reads 1/],
  ['a time of text', (r) => (r.cells[3].time.median = 'fast'), /cells\.3\.time\.median: /],
  ['a time below nothing', (r) => (r.cells[0].time.p10 = -1), /cells\.0\.time\.p10: /],
  ['percentiles that fall', (r) => (r.cells[0].time.p90 = 1e-9), /cells\.0\.time: percentiles must rise/],
  ['an unknown phase', (r) => (r.cells[0].phase = 'later'), /cells\.0\.phase: /],
  ['no cells', (r) => (r.cells = null), /cells: /],
  ['half a cell', (r) => delete r.cells[1].variant, /cells\.1\.variant: /],
  ['a date that is none', (r) => (r.begun = 'yesterday'), /begun: /],
])('refuses %s in one line', (_, change, message) => {
  expect(() => readChanged(change)).toThrow(UsageError);
  expect(() => readChanged(change)).toThrow(message);
  try {
    readChanged(change);
  } catch (error) {
    expect((error as Error).message).not.toContain('\n');
  }
});

it('lets no escape of a file through', () => {
  expect(() => readChanged((r) => (r.format = '\x9b31m'))).toThrow('but is "�31m"');
});
