// What docs/recipes.md shows is what the tests of this package run.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const blocks = [
  ...readFileSync(here('../../../docs/recipes.md'), 'utf8').matchAll(/^```typescript\n(.*?)^```$/gms),
].map(([, code = '']) => ({ code, name: /^function (\w+)/.exec(code)?.[1] ?? code }));

const tests = readdirSync(here('.'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => readFileSync(here(name), 'utf8'));

describe('every recipe of the documents stands in a test, word for word, and is called there', () => {
  it('is one of these models', () => {
    expect(blocks.map(({ name }) => name)).toEqual([
      'llama',
      'mistral',
      'qwen2',
      'qwen3',
      'gemma2',
      'gptOss',
      'gptJ',
      't5Attention',
      'bloom',
      'bert',
      'transformerXLAttention',
      'debertaAttention',
    ]);
  });

  it.each(blocks)('$name', ({ code, name }) => {
    const holders = tests.filter((text) => text.includes(code));
    expect(holders).toHaveLength(1);
    expect(holders[0]!.split(`${name}(`).length).toBeGreaterThan(2);
  });
});
