import { causal } from '@polyhead/core';
import { attentionCost, cacheBytes, cacheShape } from '@polyhead/inspect';
import { expect, it } from 'vitest';
import { caches } from '../compare/caches';
import { chooseModel } from './choose-model';
import { planAttention, storagesOf } from './plan';
import { planLines } from './report';

const grouped = chooseModel(undefined, { embedDim: 24, heads: 6, kvHeads: 2, layers: 3 });

it('counts what a causal mask leaves visible, exactly', () => {
  const { parameters, flops } = planAttention(grouped, { context: 37, batch: 2 });
  const cost = attentionCost(grouped.config!, { batch: 2, queries: 37, mask: causal() });
  expect(parameters).toEqual({ layer: cost.parameters, all: 3 * cost.parameters });
  const { scores, mixing, projections, total } = cost.flops.forward;
  expect(flops!.prompt).toEqual({
    projections: 3 * projections,
    scores: 3 * scores,
    mixing: 3 * mixing,
    total: 3 * total,
  });
  const token = attentionCost(grouped.config!, { batch: 2, queries: 1, keys: 37, cachedKeys: 36 });
  expect(flops!.token!.total).toBe(3 * token.flops.forward.total);
});

it('keeps 4 times fewer bytes with 8 of 32 heads, and finds the context that fits', () => {
  const [full, eighth] = [undefined, 8].map((kvHeads) => {
    const model = chooseModel('LLaMA-2 7B', kvHeads ? { kvHeads } : {});
    return planAttention(model, { context: 4096, batch: 1, memory: { text: '8GB', bytes: 8e9 } });
  });
  expect(full!.cache!.map(({ tokens }) => tokens)).toEqual([1, 1024, 4096, 16_384]);
  expect(full!.cache![0]!.bytes).toEqual({
    float32: 1_048_576,
    float16: 524_288,
    int8: 262_144,
    int4: 131_072,
  });
  expect(full!.cache![2]!.bytes.float32!).toBe(4 * eighth!.cache![2]!.bytes.float32!);
  for (const storage of ['float32', 'int4'] as const) {
    const bytesOf = (tokens: number) =>
      cacheBytes(cacheShape({ embedDim: 4096, numHeads: 32 }), { tokens, layers: 32, storage });
    const most = full!.fits![storage]!;
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
  const model = chooseModel(undefined, { embedDim: most, heads: most, layers: most });
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
  expect(Object.keys(row.bytes)).toEqual(['float32', 'float16', 'int8', 'int4', 'last 100']);
  expect(row.bytes['last 100']).toBe(3 * 800);
  expect(planLines(plan, 200).find((line) => line.startsWith('400 tokens'))).toMatch(/ 2\.34 KiB$/);
});
