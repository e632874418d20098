// The run of a guide: the code block of its page, as a module that can be imported.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { examplesOf } from '../../../../scripts/document-examples';

const folder = fileURLToPath(new URL('../../dist/guides', import.meta.url)); // ignored by git, and in this package

/** What the last block of docs/guide/NAME.md exports. It prints as it does for whoever copies it. */
export async function importGuide(name: string): Promise<Record<string, unknown>> {
  const code = examplesOf(`docs/guide/${name}.md`).at(-1)?.code;
  if (code === undefined) throw new Error(`docs/guide/${name}.md has no code block`);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, code);
  return import(pathToFileURL(file).href);
}
