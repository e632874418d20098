// READMEs list every option of a call, as the sources have them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Package } from './package-rules';
import { readPackages, root } from './packages';

const packages = readPackages(['packages', 'templates']);
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const optionsOf = (text: string) => [...text.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name!);

describe('the README of a variant has the table of a call', () => {
  const contract = read('packages/core/src/contract/layer.ts');
  const options = optionsOf(/^export interface LayerCall\b.*?^}/ms.exec(contract)![0]);
  const variants = packages.filter(({ manifest }) => manifest.polyhead?.kind === 'variant');

  it.each(variants.map(({ path, readme }) => [path, readme]))('%s', (_, readme) => {
    const [, table = ''] = readme.split('A call, in every variant:');
    const listed = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    expect(listed.slice(0, options.length)).toEqual(options);
  });
});

describe('the README of a package names every option of its functions', () => {
  /** The exported types `…Options` by name, with their optional members. */
  const typesOf = ({ path, files, manifest }: Package) => {
    const doors = Object.values(manifest.exports ?? {}).flatMap((door) => {
      const source = (door as { readonly '@polyhead/source'?: string })['@polyhead/source'];
      return source ? [read(join(path, source))] : [];
    });
    return files
      .filter((file) => /^src\/.*(?<!\.test)\.ts$/.test(file))
      .flatMap((file) => [...read(join(path, file)).matchAll(/^export interface (\w+Options)\b.*?^}/gms)])
      .filter(([, name]) => doors.some((door) => new RegExp(`\\b${name}\\b`).test(door)));
  };
  const published = packages.filter(({ manifest }) => !manifest.private);
  const types = published.flatMap((one) =>
    typesOf(one).map(([text, name]) => [one.path, name!, optionsOf(text), one.readme] as const),
  );

  it.each(types)('%s: %s', (_path, _name, options, readme) => {
    const prose = readme.replace(/^```.*?^```$/gms, '');
    const code = [...prose.matchAll(/`[^`]+`/g)].join(' ');
    expect(options.filter((option) => !new RegExp(`\\b${option}\\b`).test(code))).toEqual([]);
  });
});
