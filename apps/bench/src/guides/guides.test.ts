// Each guide has a picture, an exercise and a line in the list, and its links lead somewhere. Its code runs in docs/examples.test.ts.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { lineChart } from './line-chart';
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

it('a line goes through its points, and names do not lie upon each other', () => {
  const axis = { name: 'n & m', domain: [0, 10] } as const;
  const lines = ['one', 'two'].map((name) => ({
    name,
    points: [
      [0, 0],
      [10, 5],
    ] as const,
  }));
  const svg = lineChart({ title: '<t>', x: axis, y: axis, lines });
  expect(svg).toContain('points="64,304 500,178"');
  expect(svg).toContain('&lt;t>');
  const heights = [...svg.matchAll(/<text x="512" y="([\d.]+)"/g)].map((name) => Number(name[1]));
  expect(heights[1]! - heights[0]!).toBeGreaterThanOrEqual(16);
});
