// `npx pnpm guides` runs the guides of docs/guide, and draws the picture of each from what its run gives.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { printUncaughtErrors } from '../../../../scripts/backends/errors';
import { importGuide } from './guide-modules';
import { pictures } from './pictures';

printUncaughtErrors();
const folder = fileURLToPath(new URL('../../../../docs/guide/images/', import.meta.url));
mkdirSync(folder, { recursive: true });
const chosen = process.argv.slice(2);
for (const [name, draw] of Object.entries(pictures)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  console.log(`\n${name}`);
  writeFileSync(`${folder}${name}.svg`, draw((await importGuide(name)) as never));
}
