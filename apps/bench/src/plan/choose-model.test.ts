import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { attentionCost, cacheBytes, typicalModels } from '@polyhead/inspect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../command-line/errors';
import { chooseModel } from './choose-model';
import type { PlannedModel } from './planned-model';

const sizesOf = ({ layers }: PlannedModel) => {
  const { embedDim, numHeads, numKeyValueHeads, headDim } = layers[0]!;
  return [layers.length, embedDim, numHeads, numKeyValueHeads, headDim];
};

it.each(['LLaMA-2 7B', 'llama 2 7b', 'LLAMA2-7B'])('knows %s', (name) => {
  const model = chooseModel(name, {});
  expect(model.name).toBe('LLaMA-2 7B');
  expect(sizesOf(model)).toEqual([32, 4096, 32, 32, 128]);
  expect(model.cache!.bytesPerToken.float16).toBe(524_288);
});

it.each(typicalModels)('says of $name what its table says', ({ name, layers, config, cached }) => {
  const model = chooseModel(name, {});
  expect(model.layers).toHaveLength(layers);
  const kept = cached && cacheBytes(cached, { tokens: 1, layers });
  expect(model.cache?.bytesPerToken.float32).toBe(kept);
  if (!config) return;
  const { parameters } = attentionCost(config, { queries: 1 });
  expect(model.layers.map((layer) => layer.parameters)).toEqual(Array(layers).fill(parameters));
});

it('changes the sizes of a model, and what follows from them', () => {
  const model = chooseModel('LLaMA-2 7B', { kvHeads: 8, layers: 2 });
  expect(sizesOf(model)).toEqual([2, 4096, 32, 8, 128]);
  expect(chooseModel('BERT-base', { heads: 6 }).cache).toBeNull();
  const latent = chooseModel('DeepSeek-V2', { layers: 3 });
  expect(latent.layers).toHaveLength(3);
  expect(latent.cache!.bytesPerToken.float16).toBe(3 * (512 + 64) * 2);
  expect(chooseModel('Mistral 7B', { layers: 1 }).cache!.bytesPerToken.int8).toBe(2 * 8 * 128);
});

it('makes one of flags', () => {
  expect(sizesOf(chooseModel(undefined, { embedDim: 24, heads: 6, kvHeads: 2, headDim: 5 }))).toEqual([
    ...[1, 24, 6, 2, 5],
  ]);
  expect(sizesOf(chooseModel(undefined, { embedDim: 24, heads: 6 }))).toEqual([1, 24, 6, 6, 4]);
});

it.each([
  ['gpt-5', {}, /^there is no model and no file "gpt-5"; models: BERT-base, .*, DeepSeek-V2$/],
  ['', {}, 'there is no model and no file ""'],
  [undefined, {}, 'give a model, the path of a config.json, or --embed-dim and --heads'],
  [undefined, { heads: 6 }, 'give a model'],
  [undefined, { embedDim: 24, heads: 7 }, 'A model: heads must divide the width'],
  ['LLaMA-2 7B', { kvHeads: 5 }, 'key/value heads the heads'],
  ['BERT-base', { heads: 5 }, 'heads must divide the width'],
  ['DeepSeek-V2', { heads: 5 }, 'the heads of DeepSeek-V2 come from a latent'],
  [fileURLToPath(new URL('.', import.meta.url)), {}, 'is a folder'],
])('refuses %j %j', (positional, flags, message) => {
  expect(() => chooseModel(positional, flags)).toThrow(UsageError);
  expect(() => chooseModel(positional, flags)).toThrow(message);
});

const llama = { hidden_size: 4096, num_attention_heads: 32, num_hidden_layers: 32 };
const size = 'hidden_size must be a whole number from 1 to 1048576, hidden_size';

const deep = '['.repeat(200_000) + ']'.repeat(200_000);

describe('a file that is no config', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'polyhead-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each<[string, object | string, string]>([
    ['a number as a string', { ...llama, hidden_size: '4096' }, `${size} "4096"`],
    ['a negative number', { ...llama, hidden_size: -4096 }, `${size} -4096`],
    ['zero', { ...llama, hidden_size: 0 }, `${size} 0`],
    ['half a number', { ...llama, hidden_size: 0.5 }, `${size} 0.5`],
    ['a huge number', { ...llama, hidden_size: 1e308 }, `${size} 1e+308`],
    ['more than a double', '{"hidden_size": 1e999, "n_head": 1, "n_layer": 1}', `${size} Infinity`],
    ['an object', { ...llama, hidden_size: { __proto__: null } }, `${size} an object`],
    ['heads that do not divide', { ...llama, num_attention_heads: 31 }, 'heads must divide the width'],
    ['groups that do not divide', { ...llama, num_key_value_heads: 5 }, 'key/value heads the heads'],
    ['missing sizes', { hidden_size: 4096, num_hidden_layers: 2 }, 'must have num_attention_heads or n_head'],
    ['sizes of a prototype', `{"__proto__": ${JSON.stringify(llama)}}`, 'must have num_hidden_layers'],
    ['names of a prototype', '{"constructor": 1, "toString": 2}', 'must have num_hidden_layers'],
    ['escapes', { ...llama, hidden_size: '\u001b[31m' }, '\\u001b[31m'],
    [
      'a list of numbers too deep',
      `{"n_layer": 1, "n_embd": 8, "n_head": ${deep}}`,
      'n_head must be a list of',
    ],
    ['a size too deep', `{"num_hidden_layers": 1, "n_head": 1, "n_embd": ${deep}}`, 'n_embd must be a whole'],
    ['a list of lists', deep, 'holds no JSON object'],
    [
      'a deep text_config',
      `{"text_config": ${'{"text_config":'.repeat(50_000)}1${'}'.repeat(50_001)}`,
      "config must hold its text's within 8 others",
    ],
  ])('%s is refused with its reason, in one line', (_, json, message) => {
    const file = join(folder, 'config.json');
    writeFileSync(file, typeof json === 'string' ? json : JSON.stringify(json));
    expect(() => chooseModel(file, {})).toThrow(UsageError);
    expect(() => chooseModel(file, {})).toThrow(message);
    expect(() => chooseModel(file, {})).not.toThrow('\n');
  });
});
