import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** What each reader of `@polyhead/weights` has in it, and no other. */
const marks = { readSafetensors: '__metadata__', readGguf: 'general.alignment', readTorch: 'OrderedDict' };

describe('an application that takes one reader of weights', () => {
  const folder = mkdtempSync(join(tmpdir(), 'polyhead-bundle-'));
  const packed = join(folder, 'weights.js');
  const options: BuildOptions = {
    bundle: true,
    format: 'esm',
    minify: true,
    external: ['@tensorflow/tfjs-core'],
    conditions: ['@polyhead/source'],
    logLevel: 'error',
  };

  // As it is published: one file.
  beforeAll(async () => {
    const entry = fileURLToPath(new URL('../packages/weights/src/index.ts', import.meta.url));
    await build({ ...options, minify: false, entryPoints: [entry], outfile: packed });
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(Object.keys(marks))('%s bundles nothing of the others', async (reader) => {
    const entry = join(folder, `${reader}.js`);
    writeFileSync(entry, `export { ${reader} } from './weights.js';`);
    const { outputFiles } = await build({ ...options, entryPoints: [entry], write: false });
    const text = outputFiles?.[0]?.text ?? '';
    for (const [name, mark] of Object.entries(marks)) expect(text.includes(mark), name).toBe(name === reader);
    expect(text.includes('smollm')).toBe(false); // rules of tokenizers
    expect(text.length).toBeLessThan(20_000);
  });
});
