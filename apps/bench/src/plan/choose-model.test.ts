import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { UsageError } from '../command-line/errors';
import { chooseModel } from './choose-model';

it.each(['LLaMA-2 7B', 'llama 2 7b', 'LLAMA2-7B'])('knows %s', (name) => {
  expect(chooseModel(name, {})).toMatchObject({
    name: 'LLaMA-2 7B',
    layers: 32,
    config: { embedDim: 4096, numHeads: 32 },
    cached: { heads: 32, keySize: 128 },
  });
});

it('changes the sizes of a model, and what follows from them', () => {
  const model = chooseModel('LLaMA-2 7B', { kvHeads: 8, layers: 2 });
  expect(model).toMatchObject({
    layers: 2,
    config: { embedDim: 4096, numKeyValueHeads: 8 },
    cached: { heads: 8 },
  });
  expect(chooseModel('BERT-base', { heads: 6 })).not.toHaveProperty('cached');
  expect(chooseModel('DeepSeek-V2', { layers: 1 }).layers).toBe(1);
});

it('makes one of flags', () => {
  expect(chooseModel(undefined, { embedDim: 24, heads: 6, kvHeads: 2, headDim: 5 })).toMatchObject({
    layers: 1,
    config: { embedDim: 24, numHeads: 6, numKeyValueHeads: 2, headDim: 5 },
    cached: { batch: 1, heads: 2, keySize: 5, valueSize: 5 },
  });
  expect(chooseModel(undefined, { embedDim: 24, heads: 6 }).cached).toMatchObject({ heads: 6, keySize: 4 });
});

it.each([
  ['gpt-5', {}, /^there is no model and no file "gpt-5"; models: BERT-base, .*, DeepSeek-V2$/],
  ['', {}, 'there is no model and no file ""'],
  [undefined, {}, 'give a model, the path of a config.json, or --embed-dim and --heads'],
  [undefined, { heads: 6 }, 'give a model'],
  [undefined, { embedDim: 24, heads: 7 }, 'embedDim must divide by numHeads'],
  ['LLaMA-2 7B', { kvHeads: 5 }, 'numHeads must be a multiple of numKeyValueHeads'],
  ['BERT-base', { heads: 5 }, 'embedDim must divide by numHeads'],
  ['DeepSeek-V2', { heads: 5 }, 'the heads of DeepSeek-V2 come from a latent'],
  [fileURLToPath(new URL('.', import.meta.url)), {}, 'is a folder'],
])('refuses %j %j', (given, flags, message) => {
  expect(() => chooseModel(given, flags)).toThrow(UsageError);
  expect(() => chooseModel(given, flags)).toThrow(message);
});
