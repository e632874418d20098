// Each example runs, and prints what the comments behind its `console.log(…)` say.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';
import { promisesOf } from '../scripts/document-examples';

const folder = fileURLToPath(new URL('.', import.meta.url));
const examples = readdirSync(folder).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));

afterEach(() => vi.restoreAllMocks());

it.each(examples)('%s', async (file) => {
  const promises = promisesOf(readFileSync(join(folder, file), 'utf8'));
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  await import(/* @vite-ignore */ join(folder, file));
  const printed = log.mock.calls.map((values) => format(...values));
  expect(promises).not.toEqual([]);
  expect(printed.slice(0, promises.length)).toEqual(promises);
});
