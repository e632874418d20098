import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chooseModel } from './choose-model';
import { smilesTokenizer } from './load-annalog';

const tiny = fileURLToPath(new URL('../../../../packages/transformer/src/fixtures/llama', import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'model-'));
  for (const file of ['config.json', 'model.safetensors']) cpSync(join(tiny, file), join(folder, file));
});
afterAll(() => rmSync(folder, { recursive: true }));

const tokenizer = {
  version: '1.0',
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: { type: 'WhitespaceSplit' },
  post_processor: null,
  decoder: null,
  model: { type: 'WordLevel', vocab: { call: 0, me: 1, '[UNK]': 2 }, unk_token: '[UNK]' },
};

it('reads a folder of the hub, and names what it lacks', async () => {
  await expect(chooseModel(folder)).rejects.toThrow(/has no tokenizer.json$/);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  const loaded = await chooseModel(folder);
  expect(loaded.tokenizer.encode('call me')).toMatchObject({ ids: [0, 1] });
  loaded.model.dispose();
});

it('says in one line what a file is not', async () => {
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ model_type: 'gpt-9' }));
  const wrong = await chooseModel(folder).catch((error: Error) => error);
  expect(wrong).toMatchObject({ name: 'UsageError', message: expect.stringMatching(/gpt-9/) });
  expect((wrong as Error).message).not.toContain('\n');
  const broken = join(folder, 'broken.gguf');
  writeFileSync(broken, 'GGUF, but not really');
  await expect(chooseModel(broken)).rejects.toThrow(/broken.gguf: readGguf/);
});

it('cuts SMILES into the longest pieces of the vocabulary', () => {
  const pieces = smilesTokenizer(['<unk>', '<pad>', '<sos>', '<eos>', 'C', 'l', 'Cl', '[nH]']);
  expect(pieces.encode('CCl[nH]?')).toEqual([2, 4, 6, 7, 0, 3]);
  expect(pieces.decode([2, 4, 6, 3])).toBe('CCl');
});
