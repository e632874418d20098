import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newVariant } from './new-variant';

const repository = fileURLToPath(new URL('..', import.meta.url));
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'polyhead-'));
  for (const path of ['templates/variant', 'packages/core/package.json', '.changeset/config.json']) {
    const filter = (source: string) => !source.includes('node_modules');
    cpSync(join(repository, path), join(root, path), { recursive: true, filter });
  }
});

afterEach(() => rmSync(root, { recursive: true }));

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const readJson = (path: string) => JSON.parse(read(path));

describe('newVariant', () => {
  it('makes a package and its changeset, and nothing else', () => {
    expect(newVariant('sliding-window', root)).toEqual([
      '.changeset/sliding-window.md',
      'packages/sliding-window/README.md',
      'packages/sliding-window/package.json',
      'packages/sliding-window/src/conformance.test.ts',
      'packages/sliding-window/src/index.ts',
      'packages/sliding-window/src/sliding-window-attention.test.ts',
      'packages/sliding-window/src/sliding-window-attention.ts',
    ]);
  });

  it('leaves nothing of the template in it', () => {
    const placeholder = /Variant[A-Z]|Variant attention|variant-attention|(polyhead|templates)\/variant/;
    for (const file of newVariant('sliding-window', root)) expect(read(file)).not.toMatch(placeholder);
    expect(read('packages/sliding-window/src/index.ts')).toContain('SlidingWindowAttention');
    expect(read('packages/sliding-window/README.md')).toMatch(/^# @polyhead\/sliding-window\n/);
  });

  it('makes a package to be published, at the version of core', () => {
    newVariant('sliding-window', root);
    const made = readJson('packages/sliding-window/package.json');
    const template = readJson('templates/variant/package.json');
    expect(made).not.toHaveProperty('private');
    expect(made.version).toBe(readJson('packages/core/package.json').version);
    expect(made.description).toBe('Sliding-window attention for TensorFlow.js');
    expect(made.repository.directory).toBe('packages/sliding-window');
    expect(Object.keys(made)).toEqual(Object.keys(template).filter((field) => field !== 'private'));
  });

  it('writes a changeset', () => {
    newVariant('linear', root);
    expect(read('.changeset/linear.md')).toBe(
      "---\n'@polyhead/linear': minor\n---\n\nA new variant: linear attention.\n",
    );
  });

  it.each([
    [undefined, 'usage: pnpm new-variant NAME'],
    ['', 'usage: pnpm new-variant NAME'],
    ['SlidingWindow', 'lower-case words joined by "-"'],
    ['../elsewhere', 'lower-case words joined by "-"'],
    ['2d', 'lower-case words joined by "-"'],
    ['sliding--window', 'lower-case words joined by "-"'],
    ['linear-attention', 'leave out its last word'],
    ['core', 'is taken: packages/core exists'],
  ])('refuses the name %j', (name, message) => {
    expect(() => newVariant(name, root)).toThrow(message);
  });

  it('refuses a name it has made before', () => {
    newVariant('linear', root);
    expect(() => newVariant('linear', root)).toThrow('is taken: packages/linear exists');
  });
});
