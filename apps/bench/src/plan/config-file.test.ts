import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../command-line/errors';
import { readConfigFile } from './config-file';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'polyhead-'));
  file = join(folder, 'config.json');
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(json: object | string) {
  writeFileSync(file, typeof json === 'string' ? json : JSON.stringify(json));
  return readConfigFile(file);
}

const llama = { hidden_size: 4096, num_attention_heads: 32, num_hidden_layers: 32 };

describe('readConfigFile', () => {
  it('reads groups, head size, biases and context', () => {
    const model = read({
      ...llama,
      num_key_value_heads: 8,
      head_dim: 256,
      attention_bias: true,
      max_position_embeddings: 8192,
    });
    expect(model).toEqual({
      name: file,
      layers: 32,
      context: 8192,
      config: { embedDim: 4096, numHeads: 32, numKeyValueHeads: 8, headDim: 256, useBias: true },
      cached: { batch: 1, heads: 8, keySize: 256, valueSize: 256 },
      notes: [],
    });
  });

  it.each([
    [
      'GPT-2',
      { model_type: 'gpt2', n_embd: 768, n_head: 12, n_layer: 12 },
      { embedDim: 768, numHeads: 12, useBias: true },
    ],
    [
      'T5',
      { d_model: 512, num_heads: 6, d_kv: 64, num_layers: 8 },
      { embedDim: 512, numHeads: 6, headDim: 64 },
    ],
    ['MPT', { d_model: 4096, n_heads: 32, n_layers: 32 }, { embedDim: 4096, numHeads: 32 }],
    [
      'Falcon 7B',
      {
        hidden_size: 4544,
        num_attention_heads: 71,
        num_hidden_layers: 32,
        num_kv_heads: 71,
        multi_query: true,
      },
      { embedDim: 4544, numHeads: 71, numKeyValueHeads: 1 },
    ],
    [
      'Falcon 40B',
      { ...llama, num_kv_heads: 8, multi_query: true, new_decoder_architecture: true },
      { embedDim: 4096, numHeads: 32, numKeyValueHeads: 8 },
    ],
    [
      'null for the default',
      { ...llama, num_key_value_heads: null, head_dim: null },
      { embedDim: 4096, numHeads: 32 },
    ],
    [
      'a part of a larger model',
      { model_type: 'llava', text_config: llama },
      { embedDim: 4096, numHeads: 32 },
    ],
  ])('knows the names of %s', (_, json, config) => {
    expect(read(json).config).toEqual(config);
  });

  it('keeps no cache for an encoder, and a latent for heads that come from one', () => {
    const bert = read({ ...llama, model_type: 'bert' });
    expect(bert.config).toMatchObject({ useBias: true });
    expect(bert).not.toHaveProperty('cached');
    const latent = read({ ...llama, kv_lora_rank: 512, qk_rope_head_dim: 64 });
    expect(latent.cached).toEqual({ batch: 1, heads: 1, keySize: 576, valueSize: 0 });
    expect(latent).not.toHaveProperty('config');
  });

  it('says what it leaves out', () => {
    expect(read({ ...llama, sliding_window: 4096 }).notes[0]).toContain(
      'sliding_window of 4096 tokens is not counted',
    );
    expect(read({ ...llama, sliding_window: 4096, use_sliding_window: false }).notes).toEqual([]);
    expect(read({ ...llama, sliding_window: null }).notes).toEqual([]);
  });
});

const size = 'hidden_size must be a whole number from 1 to 1,048,576, and is';

describe('what is no config', () => {
  it.each<[string, object | string, string]>([
    ['a number as a string', { ...llama, hidden_size: '4096' }, `${size} "4096"`],
    ['a negative number', { ...llama, hidden_size: -4096 }, `${size} -4096`],
    ['zero', { ...llama, hidden_size: 0 }, `${size} 0`],
    ['half a number', { ...llama, hidden_size: 0.5 }, `${size} 0.5`],
    ['a huge number', { ...llama, hidden_size: 1e308 }, `${size} 1e+308`],
    ['more than a double', '{"hidden_size": 1e999, "n_head": 1, "n_layer": 1}', `${size} Infinity`],
    ['a list', { ...llama, num_key_value_heads: [4, 8] }, 'num_key_value_heads must be'],
    ['an object', { ...llama, hidden_size: { __proto__: null } }, `${size} {}`],
    ['heads that do not divide', { ...llama, num_attention_heads: 31 }, 'embedDim must divide by numHeads'],
    ['groups that do not divide', { ...llama, num_key_value_heads: 5 }, 'numHeads must be a multiple'],
    [
      'missing sizes',
      { hidden_size: 4096 },
      'has no num_attention_heads or n_head or n_heads or num_heads, no num_hidden_layers',
    ],
    ['sizes of a prototype', `{"__proto__": ${JSON.stringify(llama)}}`, 'it has no hidden_size'],
    ['names of a prototype', '{"constructor": 1, "toString": 2}', 'it has no hidden_size'],
    [
      'a deep text_config',
      `{"text_config": ${'{"text_config":'.repeat(5000)}1${'}'.repeat(5001)}`,
      'it has no hidden_size',
    ],
  ])('%s is refused with its reason', (_, json, message) => {
    expect(() => read(json)).toThrow(UsageError);
    expect(() => read(json)).toThrow(message);
  });
});
