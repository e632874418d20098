// Files that others have written, where there are some: POLYHEAD_WEIGHT_FILES names their folder.
import { readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readGguf } from './gguf/read-gguf';
import { readSafetensors } from './safetensors/read-safetensors';
import { readTorch } from './torch/read-torch';

const { POLYHEAD_WEIGHT_FILES: folder, POLYHEAD_BACKEND: backend } = process.env;
const readers = { '.safetensors': readSafetensors, '.gguf': readGguf, '.pt': readTorch } as const;

const files = (folder ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []).flatMap((name) => {
  const [, read] = Object.entries(readers).find(([ending]) => name.endsWith(ending)) ?? [];
  return read ? [{ name, read }] : [];
});

describe.skipIf(files.length === 0 || backend !== 'wasm')('a real file is read to its last number', () => {
  it.each(files)('$name', { timeout: 120_000 }, async ({ name, read }) => {
    const file = await open(join(folder!, name));
    const checkpoint = await read(file);
    let total = 0;
    for (const tensor of checkpoint.tensors.keys()) {
      const numbers = await checkpoint.read(tensor);
      expect(numbers.every(Number.isFinite), tensor).toBe(true);
      total += numbers.length;
    }
    await file.close();
    expect(total).toBeGreaterThan(0);
    // Some say how many there are, scales of quantized ones apart.
    const said = checkpoint.metadata.get('parameter_count');
    if (said !== undefined) expect(total).toBeGreaterThanOrEqual(Number(said));
  });
});
