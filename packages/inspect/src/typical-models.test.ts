// The numbers as they are published and commonly quoted, each recomputed.
import { describe, expect, it } from 'vitest';
import { attentionCost } from './attention-cost';
import { cacheBytes } from './cache-bytes';
import { typicalModels } from './typical-models';

type Row = [
  name: string,
  layers: number,
  parameters: number | null,
  perToken: [number, number, number] | null,
];

const table: Row[] = [
  ['BERT-base', 12, 2_362_368, null],
  ['BERT-large', 24, 4_198_400, null],
  ['GPT-2 small', 12, 2_362_368, [73_728, 36_864, 18_432]],
  ['GPT-2 large', 36, 6_558_720, [368_640, 184_320, 92_160]],
  ['GPT-3 175B', 96, 604_028_928, [9_437_184, 4_718_592, 2_359_296]],
  ['LLaMA-2 7B', 32, 67_108_864, [1_048_576, 524_288, 262_144]],
  ['LLaMA-2 70B', 80, 150_994_944, [655_360, 327_680, 163_840]],
  ['Mistral 7B', 32, 41_943_040, [262_144, 131_072, 65_536]],
  ['LLaMA-3 8B', 32, 41_943_040, [262_144, 131_072, 65_536]],
  ['DeepSeek-V2', 60, null, [138_240, 69_120, 34_560]],
];
const heads: Record<string, [width: number, heads: number, keyValueHeads: number, size: number]> = {
  'BERT-base': [768, 12, 12, 64],
  'BERT-large': [1024, 16, 16, 64],
  'GPT-2 small': [768, 12, 12, 64],
  'GPT-2 large': [1280, 20, 20, 64],
  'GPT-3 175B': [12288, 96, 96, 128],
  'LLaMA-2 7B': [4096, 32, 32, 128],
  'LLaMA-2 70B': [8192, 64, 8, 128],
  'Mistral 7B': [4096, 32, 8, 128],
  'LLaMA-3 8B': [4096, 32, 8, 128],
};
const millions: Record<string, number> = {
  'BERT-base': 28.35,
  'BERT-large': 100.76,
  'GPT-2 small': 28.35,
  'GPT-2 large': 236.11,
  'GPT-3 175B': 57_990,
  'LLaMA-2 7B': 2147,
  'LLaMA-2 70B': 12_080,
  'Mistral 7B': 1342,
  'LLaMA-3 8B': 1342,
};
const named = (name: string) => typicalModels.find((model) => model.name === name)!;

describe('typicalModels', () => {
  it('lists these', () => {
    expect(typicalModels.map(({ name }) => name)).toEqual(table.map(([name]) => name));
  });

  it.each(table)('has the numbers of %s', (name, layers, parameters, perToken) => {
    const { config, cached, ...model } = named(name);
    expect(model.layers).toBe(layers);
    expect(config ? attentionCost(config, { queries: 1 }).parameters : null).toBe(parameters);
    const bytes = (['float32', 'float16', 'int8'] as const).map(
      (storage) => cached && cacheBytes(cached, { tokens: 1, layers, storage }),
    );
    expect(cached ? bytes : null).toEqual(perToken);
  });

  it.each(Object.entries(heads))('has the sizes of %s', (name, [embedDim, numHeads, keyValueHeads, size]) => {
    const { config, cached } = named(name);
    expect(config).toMatchObject({ embedDim, numHeads });
    expect(config!.numKeyValueHeads ?? numHeads).toBe(keyValueHeads);
    if (cached) expect(cached).toEqual({ batch: 1, heads: keyValueHeads, keySize: size, valueSize: size });
  });

  it.each(Object.entries(millions))('has the parameters of all layers of %s', (name, expected) => {
    const { config, layers } = named(name);
    const parameters = (layers * attentionCost(config!, { queries: 1 }).parameters) / 1e6;
    expect(Math.abs(parameters - expected)).toBeLessThan(expected / 2000);
  });

  it('keeps 71 times less in latents than expanded heads would take', () => {
    const { cached, layers } = named('DeepSeek-V2');
    const extent = { tokens: 1, layers, storage: 'float16' } as const;
    const expanded = cacheBytes({ batch: 1, heads: 128, keySize: 128 + 64, valueSize: 128 }, extent);
    expect(expanded).toBe(4_915_200);
    expect(Math.round(expanded / cacheBytes(cached!, extent))).toBe(71);
  });
});
