import { golden, goldenCases } from '@polyhead/conformance';
import { ConfigError, causal, countParameters, slidingWindow, validLengths } from '@polyhead/core';
import { MultiHeadAttention, variableShapes } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { attentionCost, type CostCall } from './attention-cost';
import file from './fixtures/parameter-counts.json';
import { cacheShape, type LayerConfig } from './layer-config';

interface CountParams {
  readonly embed_dim?: number;
  readonly hidden_size?: number;
  readonly num_heads?: number;
  readonly num_attention_heads?: number;
  readonly num_key_value_heads?: number;
  readonly kdim?: number;
  readonly vdim?: number;
  readonly bias?: boolean;
}

/** Every width is another. */
const wide: LayerConfig = {
  embedDim: 6,
  numHeads: 3,
  headDim: 4,
  valueHeadDim: 5,
  keyEmbedDim: 7,
  valueEmbedDim: 8,
  outputDim: 9,
};

describe('parameters', () => {
  it.each([...goldenCases<CountParams>(file).values()])('are those of $name', ({ params, outputs }) => {
    const config: LayerConfig = {
      embedDim: params.embed_dim ?? params.hidden_size!,
      numHeads: params.num_heads ?? params.num_attention_heads!,
      useBias: params.bias ?? false,
      ...(params.num_key_value_heads && { numKeyValueHeads: params.num_key_value_heads }),
      ...(params.kdim && { keyEmbedDim: params.kdim }),
      ...(params.vdim && { valueEmbedDim: params.vdim }),
    };
    expect(attentionCost(config, { queries: 1 }).parameters).toBe(golden(outputs, 'total').data[0]);
  });

  it.each<LayerConfig>([
    wide,
    { ...wide, useBias: true },
    { embedDim: 8, numHeads: 2, numMemoryKeyValues: 3, addZeroAttention: true },
  ])('and the cached sizes are those of the layer itself: %j', (config) => {
    const layer = new MultiHeadAttention(config);
    expect(attentionCost(config, { queries: 1, variableShapes }).parameters).toBe(
      countParameters(variableShapes(config)),
    );
    expect(cacheShape(config, 2)).toEqual(layer.cacheShape(2));
    layer.dispose();
  });
});

describe('flops', () => {
  it.each<[string, LayerConfig, CostCall]>([
    ['self-attention', { embedDim: 12, numHeads: 3 }, { batch: 2, queries: 5 }],
    ['cross-attention, every width another', wide, { batch: 2, queries: 5, keys: 3 }],
    ['an output gate', { ...wide, outputGate: 'number' }, { batch: 2, queries: 5, keys: 3 }],
    [
      'memory keys',
      { embedDim: 8, numHeads: 2, numMemoryKeyValues: 3, addZeroAttention: true },
      { queries: 5, variableShapes },
    ],
  ])('are those that the layer performs: %s', async (_, config, call) => {
    const { batch = 1, queries, keys = queries } = call;
    const layer = new MultiHeadAttention(config);
    const [query, key, value] = [config.embedDim, config.keyEmbedDim, config.valueEmbedDim].map((width, i) =>
      tf.ones<tf.Rank.R3>([batch, i === 0 ? queries : keys, width ?? config.embedDim]),
    );
    const performed = await productsOf(() => {
      layer.apply({ query: query!, key: key!, value: value! });
    });
    expect(performed).toBe(attentionCost(config, call).flops.forward.total);
    layer.dispose();
  });

  it('are counted by hand for every part', () => {
    const { pairs, flops } = attentionCost(wide, {
      batch: 2,
      queries: 5,
      keys: 3,
      mask: validLengths([3, 1]),
    });
    expect(pairs).toBe(3 * (5 * 3 + 5 * 1));
    const query = 2 * 5 * 6 * 12;
    const [key, value] = [2 * 3 * 7 * 12, 2 * 3 * 8 * 15];
    const output = 2 * 5 * 15 * 9;
    expect(flops.forward).toEqual({
      projections: 2 * (query + key + value + output),
      scores: 2 * 60 * 4,
      mixing: 2 * 60 * 5,
      total: 2 * (query + key + value + output + 60 * 4 + 60 * 5),
    });
    expect(flops.backward).toEqual({
      projections: 4 * (query + key + value + output),
      scores: 3 * 2 * 60 * 4,
      mixing: 2 * 2 * 60 * 5,
      total: 4 * (query + key + value + output) + 60 * (6 * 4 + 4 * 5),
    });
  });

  it.each([
    [undefined, 2048, 0],
    ['number', 2560, 4 * (64 + 4 * (8 + 8))],
    ['head', 2176, 4 * (16 + 4 * (8 + 2))],
  ] as const)('and bytes moved count the output gate: %s', (outputGate, projections, bytes) => {
    const config = { embedDim: 8, numHeads: 2 };
    const cost = attentionCost({ ...config, ...(outputGate && { outputGate }) }, { queries: 4 });
    expect(cost.flops.forward.projections).toBe(projections);
    expect(cost.bytesMoved - attentionCost(config, { queries: 4 }).bytesMoved).toBe(bytes);
  });

  it('of attention itself are 2.5 times as many backward, where heads of keys and values are alike', () => {
    const { forward, backward } = attentionCost({ embedDim: 8, numHeads: 2 }, { queries: 7 }).flops;
    expect(backward.scores + backward.mixing).toBe(2.5 * (forward.scores + forward.mixing));
  });

  it('do not depend on the number of heads, and neither do parameters', () => {
    const cost = (numHeads: number) => {
      const { parameters, flops } = attentionCost(
        { embedDim: 64, numHeads, useBias: true },
        { batch: 2, queries: 33, mask: causal() },
      );
      return { parameters, flops };
    };
    for (const numHeads of [2, 4, 8, 16, 64]) expect(cost(numHeads)).toEqual(cost(1));
  });

  it('of projections leave out keys that a cache holds', () => {
    const config = { embedDim: 12, numHeads: 3, numKeyValueHeads: 1 };
    const step = attentionCost(config, { queries: 1, keys: 10, cachedKeys: 9 });
    expect(step.flops.forward.projections).toBe(2 * 12 * (12 + 4 + 4 + 12));
    expect(step.pairs).toBe(3 * 10);
    const sealed = attentionCost(config, { queries: 1, keys: 10, cachedKeys: 10 });
    expect(sealed.flops.forward.projections).toBe(2 * 12 * (12 + 12));
  });

  it('of all decode steps are those of one causal pass', () => {
    const config = { embedDim: 12, numHeads: 3 };
    const mask = slidingWindow({ left: 3, right: 0 });
    const steps = Array.from({ length: 9 }, (_, cachedKeys) => {
      const call = { queries: 1, keys: cachedKeys + 1, cachedKeys, mask };
      return attentionCost(config, call).flops.forward.total;
    });
    const whole = attentionCost(config, { queries: 9, mask }).flops.forward.total;
    expect(steps.reduce((sum, n) => sum + n, 0)).toBe(whole);
  });
});

describe('bytes and intensity', () => {
  const config = { embedDim: 12, numHeads: 3, numKeyValueHeads: 1 }; // D 4
  const step = { batch: 2, queries: 1, keys: 10, cachedKeys: 9 };

  it('count what each product reads and writes', () => {
    const { bytesMoved, parameters, flops, intensity } = attentionCost(config, step);
    const projected = 2 * (12 + 12 + 2 * (12 + 4) + 12 + 12);
    const kernel = 2 * (12 + 12) + 2 * 10 * (4 + 4);
    expect(parameters).toBe(12 * (12 + 4 + 4 + 12));
    expect(bytesMoved).toBe(4 * (parameters + projected + kernel));
    expect(intensity).toBe(flops.forward.total / bytesMoved);
  });

  it('read keys and values as they are stored, those that exist', () => {
    const bytes = (extra: Partial<CostCall>) => attentionCost(config, { ...step, ...extra }).bytesMoved;
    expect(bytes({}) - bytes({ storage: 'int8' })).toBe(2 * 10 * 8 * 3);
    expect(bytes({}) - bytes({ lengths: [10, 4] })).toBe(6 * 8 * 4);
  });

  it('tell prefill from decode', () => {
    const llama = { embedDim: 4096, numHeads: 32 };
    const prefill = attentionCost(llama, { queries: 2048, mask: causal() });
    const decode = (numKeyValueHeads: number) =>
      attentionCost({ ...llama, numKeyValueHeads }, { batch: 16, queries: 1, keys: 8192, cachedKeys: 8191 });
    expect(prefill.intensity).toBeGreaterThan(300);
    expect(decode(32).intensity).toBeLessThan(2);
    expect(decode(8).intensity).toBeGreaterThan(2 * decode(32).intensity);
  });

  it('of the cache a token are given for every storage', () => {
    const { cacheBytesPerToken } = attentionCost({ embedDim: 4096, numHeads: 32, numKeyValueHeads: 8 }, step);
    expect(cacheBytesPerToken).toEqual({ float32: 8192, float16: 4096, int8: 2048, int4: 1024 });
  });
});

describe('attentionCost', () => {
  it('counts the variables that a variant says it has, options of its own included', () => {
    const config = { embedDim: 8, numHeads: 2, ranks: 3 };
    const shapes = ({ ranks }: typeof config) => ({ 'query/kernel': [8, 8], low: [8, ranks] });
    const cost = attentionCost(config, { queries: 2, variableShapes: shapes });
    expect(cost.parameters).toBe(64 + 24);
    expect(cost.flops.forward.projections).toBe(2 * 2 * 64);
  });

  it('answers for long calls in seconds, or says that it cannot', () => {
    const config = { embedDim: 8, numHeads: 2 };
    const n = 2 ** 20;
    expect(attentionCost(config, { queries: n, mask: causal() }).pairs).toBe(n * (n + 1));
    expect(attentionCost(config, { queries: 2 ** 29 }).pairs).toBe(2 ** 59);
    const call = { queries: 2 ** 27, mask: causal() };
    expect(() => attentionCost(config, call)).toThrow(/pairs of a mask are counted row by row/);
  });

  it('allocates nothing', () => {
    const before = tf.memory();
    attentionCost({ embedDim: 12288, numHeads: 96 }, { queries: 2048, mask: causal() });
    expect(tf.memory()).toEqual(before);
  });

  it.each<[LayerConfig, CostCall, RegExp]>([
    [{ embedDim: 10, numHeads: 3 }, { queries: 1 }, /attentionCost: embedDim must divide by numHeads/],
    [
      { embedDim: 12, numHeads: 4, numKeyValueHeads: 3 },
      { queries: 1 },
      /numHeads +4\n +numKeyValueHeads +3/,
    ],
    [{ embedDim: 8, numHeads: 2, heads: 2 } as LayerConfig, { queries: 1 }, /unknown +\[heads\]/],
    [{ embedDim: 8, numHeads: 2, numMemoryKeyValues: -1 }, { queries: 1 }, /numMemoryKeyValues must be/],
    [{ embedDim: 8, numHeads: 2, numMemoryKeyValues: 1 }, { queries: 1 }, /pass its variableShapes/],
    [
      { embedDim: 8, numHeads: 2, heads: 2 } as LayerConfig,
      { queries: 1, variableShapes },
      /unknown +\[heads\]/,
    ],
    [{ embedDim: 8, numHeads: 2, addZeroAttention: 0 as never }, { queries: 1 }, /must be true or false/],
    [null as never, { queries: 1 }, /attentionCost: config must be an object/],
    [{ embedDim: 8, numHeads: 2 }, undefined as never, /attentionCost: call must be an object/],
    [{ embedDim: 8, numHeads: 2 }, { queries: 1, window: 2 } as CostCall, /unknown +\[window\]/],
    [{ embedDim: 8, numHeads: 2 }, { queries: 2.5 }, /attentionCost: queries must be/],
    [
      { embedDim: 8, numHeads: 2 },
      { queries: 1, cachedKeys: 2 },
      /cachedKeys must be a whole number from 0 to 1/,
    ],
    [{ embedDim: 8, numHeads: 2 }, { queries: 1, storage: 'int2' as 'int4' }, /storage must be one of/],
  ])('refuses the config %j in the call %j', (config, call, message) => {
    expect(() => attentionCost(config, call)).toThrow(message);
    expect(() => attentionCost(config, call)).toThrow(ConfigError);
  });
});

/** Operations of all matrix products that a backend runs, from the sizes of their operands. */
async function productsOf(run: () => void): Promise<number> {
  const { kernels } = await tf.profile(() => {
    run();
  });
  const sizeOf = (shape: readonly number[]) => shape.reduce((product, n) => product * n, 1);
  const products = kernels.filter(({ name }) => /MatMul/.test(name));
  return products.reduce((sum, { inputShapes, outputShapes }) => {
    const [a, b] = inputShapes.map((shape) => sizeOf(shape!));
    const output = outputShapes[0]! as number[];
    const size = sizeOf(output);
    const batch = sizeOf(output.slice(0, -2));
    const inner = Math.sqrt((a! * b!) / size / batch); // |A| |B| / |C| = batch · inner²
    return sum + 2 * size * Math.round(inner);
  }, 0);
}
