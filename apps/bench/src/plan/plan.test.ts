import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { causal, slidingWindow } from '@polyhead/core';
import { attentionCost, cacheBytes, cacheShape, visiblePairs } from '@polyhead/inspect';
import { describe, expect, it } from 'vitest';
import { caches } from '../axes/caches';
import { chooseModel } from './choose-model';
import { planAttention, storagesOf } from './plan';
import { planJson, planLines } from './report';

const llama = { model_type: 'llama', hidden_size: 32, num_attention_heads: 4, num_hidden_layers: 2 };

/** The model of a config.json. */
function fileModel(json: object) {
  const folder = mkdtempSync(join(tmpdir(), 'polyhead-'));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify(json));
  try {
    return chooseModel(file, {});
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const config = { embedDim: 24, numHeads: 6, numKeyValueHeads: 2 };
const grouped = chooseModel(undefined, { embedDim: 24, heads: 6, kvHeads: 2, layers: 3 });

it('counts what a causal mask leaves visible, exactly', () => {
  const { parameters, flops } = planAttention(grouped, { context: 37, batch: 2 });
  const cost = attentionCost(config, { batch: 2, queries: 37, mask: causal() });
  expect(parameters).toEqual({ all: 3 * cost.parameters, matrices: 3 * cost.parameters });
  const { scores, mixing, projections, total } = cost.flops.forward;
  expect(flops!.prompt).toEqual({
    projections: 3 * projections,
    scores: 3 * scores,
    mixing: 3 * mixing,
    total: 3 * total,
  });
  const token = attentionCost(config, { batch: 2, queries: 1, keys: 37, cachedKeys: 36 });
  expect(flops!.token!.total).toBe(3 * token.flops.forward.total);
});

it('keeps 4 times fewer bytes with 8 of 32 heads, and finds the context that fits', () => {
  const [full, eighth] = [undefined, 8].map((kvHeads) => {
    const model = chooseModel('LLaMA-2 7B', kvHeads ? { kvHeads } : {});
    return planAttention(model, { context: 4096, batch: 1, memory: { text: '8GB', bytes: 8e9 } });
  });
  expect(full!.cache!.map(({ tokens }) => tokens)).toEqual([1, 1024, 4096, 16_384]);
  expect(full!.cache![0]!.bytes).toMatchObject({
    float32: 1_048_576,
    float16: 524_288,
    int8: 262_144,
    int4: 131_072,
  });
  expect(full!.cache![2]!.bytes.float32!).toBe(4 * eighth!.cache![2]!.bytes.float32!);
  for (const storage of ['float32', 'int4'] as const) {
    const bytesOf = (tokens: number) =>
      cacheBytes(cacheShape({ embedDim: 4096, numHeads: 32 }), { tokens, layers: 32, storage });
    const most = full!.fits![0]!.tokens[storage]!;
    expect(bytesOf(most)).toBeLessThanOrEqual(8e9);
    expect(bytesOf(most + 1)).toBeGreaterThan(8e9);
  }
});

it('lets every token of an encoder see every token, and keeps nothing', () => {
  const plan = planAttention(chooseModel('BERT-base', {}), { context: 10, batch: 1 });
  const cost = attentionCost({ embedDim: 768, numHeads: 12, useBias: true }, { queries: 10 });
  expect(plan.flops!.prompt.scores).toBe(12 * cost.flops.forward.scores);
  expect(plan.flops).not.toHaveProperty('token');
  expect(plan).not.toHaveProperty('cache');
});

it('answers for the largest sizes there are', () => {
  const most = 2 ** 20;
  const model = chooseModel(undefined, { embedDim: most, heads: most, layers: 1024 });
  const plan = planAttention(model, { context: 2 ** 30, batch: most });
  expect(Number.isFinite(plan.flops!.prompt.total)).toBe(true);
  expect(Number.isFinite(plan.cache!.at(-1)!.bytes.float32!)).toBe(true);
});

it('gives a cache that is added to the registry and takes other bytes a column of its own', () => {
  const window = {
    ...caches[0]!,
    name: 'last 100',
    predictBytes: (_: object, tokens: number) => 8 * Math.min(tokens, 100),
  };
  const request = { context: 400, batch: 1, memory: { text: '1GB', bytes: 1e9 } };
  const plan = planAttention(grouped, request, storagesOf([...caches, window]));
  const row = plan.cache!.find(({ tokens }) => tokens === 400)!;
  const own = ['quantized-8', 'quantized-4', 'kivi-4']; // with their scales
  expect(Object.keys(row.bytes)).toEqual(['float32', 'float16', 'int8', 'int4', ...own, 'last 100']);
  expect(row.bytes['last 100']).toBe(3 * 800);
  expect(planLines(plan, 200).find((line) => line.startsWith('400 tokens'))).toMatch(/ 2\.34 KiB$/);
});

it('bounds windows, and counts the pairs that they leave visible', () => {
  const json = { ...llama, sliding_window: 5, layer_types: ['sliding_attention', 'full_attention'] };
  const plan = planAttention(fileModel(json), { context: 12, batch: 3 });
  const pairs = visiblePairs({ batch: 3, queries: 12, mask: causal() }, 4);
  const inWindow = visiblePairs({ batch: 3, queries: 12, mask: slidingWindow({ left: 4, right: 0 }) }, 4);
  expect(plan.flops.prompt.scores).toBe(2 * 8 * (pairs + inWindow));
  const [bare, bounded] = plan.cache!.filter(({ tokens }) => tokens === 12);
  const each = 3 * 2 * 4 * 8 * 4; // bytes of a token in one layer
  expect(bare!.bytes.float32).toBe(2 * 12 * each);
  expect(bounded).toMatchObject({ isBounded: true, bytes: { float32: (12 + 5) * each } });
});

describe('the longest context in a given memory, of two layers with 256 bytes of floats a token', () => {
  const [window, memory] = [5, { text: '10000 bytes', bytes: 10_000 }];
  const fits = (layer_types: string[], bytes = memory.bytes) => {
    const model = fileModel({ ...llama, sliding_window: window, layer_types });
    return planAttention(model, { context: 4, batch: 1, memory: { ...memory, bytes } }).fits!;
  };

  it('a layer with a window stops growing there', () => {
    const [bare, bounded, ...rest] = fits(['sliding_attention', 'full_attention']);
    expect(rest).toEqual([]);
    // 512 bytes a token; or 5 · 256 = 1,280 bytes, and 256 a token for the 8,720 that are left.
    expect(bare!.tokens).toMatchObject({ float32: 19, float16: 39, int8: 78, int4: 156 });
    expect(bounded).toMatchObject({ isBounded: true, tokens: { float32: 34, float16: 73, int8: 151 } });
    // 96 bytes a token and layer with scales; the window in a ring of floats, 8,720 / 96.
    expect(bare!.tokens['quantized-8']).toBe(52);
    expect(bounded!.tokens['quantized-8']).toBe(90);
  });

  it('has no end where all layers have one', () => {
    const kinds = ['sliding_attention', 'sliding_attention'];
    const [, bounded] = fits(kinds); // 2 · 1,280 bytes
    expect(bounded!.tokens).toMatchObject({ float32: Infinity, 'quantized-8': Infinity });
    expect(fits(kinds, 2000)[1]!.tokens.float32).toBe(3); // 512 bytes a token
  });

  it('is one where none has', () => {
    expect(fits(['full_attention', 'full_attention'])).toHaveLength(1);
  });

  it('stands in text and in JSON', () => {
    const model = fileModel({ ...llama, sliding_window: window });
    const plan = planAttention(model, { context: 4, batch: 1, memory });
    const line = planLines(plan, 200).find((each) => each.startsWith('in 10000 bytes'))!;
    const next = planLines(plan, 200)[planLines(plan, 200).indexOf(line) + 1];
    expect(line).toMatch(/^in 10000 bytes +19 tokens +39 tokens/);
    expect(next).toMatch(/^ {2}windows bounded +without end +without end/);
    const { memory: written } = JSON.parse(JSON.stringify(planJson(plan)));
    expect(written).toMatchObject({
      bytes: 10_000,
      longestContext: [{ tokens: { float32: 19 } }, { isBounded: true, tokens: { float32: null } }],
    });
  });
});

it('keeps cross-attention apart, in JSON too', () => {
  const json = {
    model_type: 'bart',
    d_model: 32,
    encoder_layers: 2,
    decoder_layers: 3,
    encoder_attention_heads: 4,
  };
  const model = fileModel({ ...json, decoder_attention_heads: 4, is_encoder_decoder: true });
  const written = planJson(planAttention(model, { context: 8, batch: 1 }));
  expect(written).toMatchObject({
    context: null,
    attentionLayers: 8,
    parameters: { attention: 8 * (4 * 32 * 32 + 4 * 32) },
    cache: {
      bytesPerToken: { float32: 768, float16: 384, int8: 192, int4: 96 },
      crossBytesPerSourceToken: { float32: 768 },
    },
    notes: [],
  });
});

it('names what is not understood', () => {
  const model = fileModel({ ...llama, index_head_dim: 64 });
  const plan = planAttention(model, { context: 8, batch: 1 });
  expect(planLines(plan, 100)).toContain('unsure of bytes: "index_head_dim" is not understood');
  expect(planJson(plan)).toMatchObject({ unsure: { cache: ['index_head_dim'] } });
});
