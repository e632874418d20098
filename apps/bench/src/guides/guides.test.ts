// Each guide has a picture, an exercise and a line in the list, and its links lead somewhere. Its code runs in docs/examples.test.ts.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { pictures } from './pictures';

const folder = fileURLToPath(new URL('../../../../docs/guide/', import.meta.url));
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const pages = readdirSync(folder).filter((file) => file.endsWith('.md'));

describe.each(pages)('docs/guide/%s', (file) => {
  it('links to what exists', () => {
    const links = [...read(file).matchAll(/\]\((?!https?:)([^)#]+)/g)].map((link) => link[1]!);
    expect(links.filter((link) => !existsSync(join(folder, link)))).toEqual([]);
  });

  it.skipIf(file === 'README.md')('ends with an exercise, and stands in the list', () => {
    expect(read(file).split('\n## ').at(-1)).toMatch(/^Exercise\n/);
    expect(read('README.md')).toContain(`](${file})`);
  });
});

it.each(Object.keys(pictures))('%s shows its picture', (name) => {
  expect(read(`${name}.md`)).toContain(`](images/${name}.svg)`);
  expect(read(`images/${name}.svg`)).toMatch(/^<svg .*<\/svg>\n?$/s);
});
