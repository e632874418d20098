import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { UsageError } from '../command-line/errors';
import { earlierResult, keep, readTrainResult } from './kept';
import { committedResult } from './page';

let path: string;
beforeAll(() => {
  path = join(mkdtempSync(join(tmpdir(), 'polyhead-')), 'train.json');
});
afterAll(() => rmSync(join(path, '..'), { recursive: true }));

const result = readTrainResult(committedResult);
// biome-ignore lint/suspicious/noExplicitAny: it is spoiled on purpose
function readChanged(change: (result: any) => unknown) {
  const changed = structuredClone(result);
  change(changed);
  writeFileSync(path, JSON.stringify(changed));
  return readTrainResult(path);
}

it('reads what it keeps, a section of a later version included, and leaves no half file', () => {
  keep(path, result);
  expect(readTrainResult(path)).toEqual(result);
  expect(existsSync(`${path}.part`)).toBe(false);
  const textOf = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
  expect(textOf(path)).toEqual(textOf(committedResult));
  expect(readChanged((r) => Object.assign(r, { pictures: [1] }))).toHaveProperty('pictures', [1]);
});

it.each<[string, (r: typeof result) => unknown, RegExp]>([
  [
    'another format',
    (r) => Object.assign(r, { format: 'other' }),
    /"format" must be "polyhead-train", but is "other"/,
  ],
  ['another version', (r) => Object.assign(r, { version: 2 }), /"version" must be 1, but is 2/],
  ['a loss of text', (r) => Object.assign(r.runs[0]!, { heldOut: 'low' }), /runs\.0\.heldOut: /],
  ['a curve without points', (r) => Object.assign(r.runs[1]!, { curve: [] }), /runs\.1\.curve: /],
  ['a run twice', (r) => r.runs.push(r.runs[0]!), /runs: runs must differ in variant, position or seed/],
  ['no settings', (r) => Reflect.deleteProperty(r, 'settings'), /settings: /],
])('refuses %s in one line', (_, change, message) => {
  expect(() => readChanged(change)).toThrow(UsageError);
  expect(() => readChanged(change)).toThrow(message);
});

it('goes on from a file of the same settings alone', () => {
  const { settings, reference } = result;
  expect(earlierResult(`${path}.none`, { settings, reference })).toBeUndefined();
  keep(path, result);
  expect(earlierResult(path, { settings, reference })).toEqual(result);
  const others = { settings: { ...settings, steps: 7 }, reference };
  expect(() => earlierResult(path, others)).toThrow(/other settings, .*"steps":7.* remove it$/);
});
