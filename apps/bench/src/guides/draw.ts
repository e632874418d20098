// `npx pnpm guides` runs the guides of docs/guide, and draws the picture of each from what its run gives.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { printUncaughtErrors } from '../../../../scripts/backends/errors';
import { examplesOf } from '../../../../scripts/document-examples';
import { pictures } from './pictures';

printUncaughtErrors();
const images = fileURLToPath(new URL('../../../../docs/guide/images/', import.meta.url));
const modules = fileURLToPath(new URL('../../dist/guides', import.meta.url)); // ignored by git, and in this package
for (const folder of [images, modules]) mkdirSync(folder, { recursive: true });
const chosen = process.argv.slice(2);
for (const [name, draw] of Object.entries(pictures)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  console.log(`\n${name}`);
  writeFileSync(`${images}${name}.svg`, draw((await importGuide(name)) as never));
}

/** What the last code block of docs/guide/NAME.md exports. It prints as it does for whoever copies it. */
async function importGuide(name: string): Promise<Record<string, unknown>> {
  const code = examplesOf(`docs/guide/${name}.md`).at(-1)?.code;
  if (code === undefined) throw new Error(`docs/guide/${name}.md has no code block`);
  const file = join(modules, `${name}.ts`);
  writeFileSync(file, code);
  return import(pathToFileURL(file).href);
}
