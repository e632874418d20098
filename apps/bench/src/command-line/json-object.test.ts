import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { UsageError } from '../command-line/errors';
import { has, jsonText, readJsonObject, shown } from './json-object';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'polyhead-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(text: string) {
  const path = join(folder, 'some.json');
  writeFileSync(path, text);
  return readJsonObject(path);
}

it('reads numbers as Python writes them, where JSON has none, and a mark of the byte order', () => {
  expect(read('\ufeff{"limit": [0, Infinity, -Infinity, NaN], "text": "NaN, \\"Infinity\\""}')).toEqual({
    limit: [0, Infinity, Infinity, Infinity], // no size is any of them
    text: 'NaN, "Infinity"',
  });
});

it.each([
  ['text', 'hello', 'is not JSON: Unexpected token'],
  ['nothing', '', 'is not JSON: Unexpected end'],
  ['half of it', '{"a":', 'is not JSON'],
  ['deep nesting', '['.repeat(500_000), 'is not JSON'],
  ['a list', '[1]', 'holds no JSON object, but [1]'],
  ['null', 'null', 'holds no JSON object, but null'],
  ['a long string', JSON.stringify('x'.repeat(1000)), /holds no JSON object, but "x{38}…$/],
])('refuses %s', (_, text, message) => {
  expect(() => read(text)).toThrow(UsageError);
  expect(() => read(text)).toThrow(message);
});

it('lets no escape of the file through', () => {
  expect(() => read('\x1b[31m')).toThrow('�[31m');
  expect(shown('\u202e\x9b')).toBe('"��"');
});

it('refuses a file of 100 MB unread, a folder, and what is not there', () => {
  const path = join(folder, 'large.json');
  const file = openSync(path, 'w');
  ftruncateSync(file, 100_000_000);
  closeSync(file);
  expect(() => readJsonObject(path)).toThrow('has 95.4 MiB: a config.json has a few KiB');
  expect(() => readJsonObject(folder)).toThrow('is a folder: give the path of the config.json in it');
  expect(() => readJsonObject(join(folder, 'none'))).toThrow('cannot be read: ENOENT');
  expect(() => readJsonObject('/dev/null')).toThrow('is no file');
});

it('knows the names of the object itself', () => {
  const json = read('{"a": null, "b": false, "__proto__": {"c": 1}}');
  expect(['a', 'b', 'c', 'toString', '__proto__'].map((name) => has(json, name))).toEqual([
    false,
    true,
    false,
    false,
    true,
  ]);
});

it('writes JSON that commands no terminal, and means the same', () => {
  const value = { 'a\u202eb\u200b\u009b\u{e0001}': ['line\nbreak', '\x1b[31m', 'schön'] };
  const text = jsonText(value);
  expect(JSON.parse(text)).toEqual(value);
  expect(text).not.toMatch(/[^\P{C}\n]/u);
  expect(text).toContain('schön');
});
