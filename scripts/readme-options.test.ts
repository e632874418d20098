// The README of each variant lists every option of a call, as the contract has them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readPackages, root } from './packages';

const contract = readFileSync(join(root, 'packages/core/src/contract/layer.ts'), 'utf8');
const call = /^export interface LayerCall\b.*?^}/ms.exec(contract)![0];
const options = [...call.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name);

const variants = readPackages(['packages', 'templates']).filter(
  ({ manifest }) => manifest.polyhead?.kind === 'variant',
);

it.each(variants.map(({ path, readme }) => [path, readme]))('%s', (_, readme) => {
  const [, table = ''] = readme.split('A call, in every variant:');
  const listed = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
  expect(listed.slice(0, options.length)).toEqual(options);
});
