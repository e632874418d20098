// Known traps of T5's relative bias, and what transformers computes.
import {
  expectClose,
  fromLinears,
  golden,
  goldenCases,
  layerNumbers,
  numbersOf,
  toHost,
  tokenByToken,
  toTensor,
  toTensors,
} from '@polyhead/conformance';
import { causal, dense } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import file from './fixtures/hugging-face-t5.json';
import { type T5Config, t5, t5Bucket } from './index';

const random = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 1, 'float32', seed);

describe('t5', () => {
  it('G1: has buckets for both directions', () => {
    const distances = [0, 1, -1, 7, -7, 8, -8, 16, -16, 64, -64, 91, 128, -128, 1000];
    const buckets = [0, 17, 1, 23, 7, 24, 8, 26, 10, 30, 14, 31, 31, 15, 31];
    expect(distances.map((distance) => t5Bucket(distance))).toEqual(buckets);
  });

  it('G2: has buckets for one direction', () => {
    const distances = [1, 5, 0, -1, -15, -16, -18, -19, -21, -32, -64, -112, -113, -1000];
    const buckets = [0, 0, 0, 1, 15, 16, 16, 17, 18, 21, 26, 30, 31, 31];
    expect(distances.map((distance) => t5Bucket(distance, { bidirectional: false }))).toEqual(buckets);
  });

  it('G3: never takes the logarithm of 0', () => {
    for (const config of [
      {},
      { bidirectional: false },
      { numBuckets: 2 },
      { numBuckets: 1, bidirectional: false },
    ]) {
      expect(t5Bucket(0, config)).toBe(0);
    }
    expect([-3, 0, 3].map((distance) => t5Bucket(distance, { numBuckets: 2 }))).toEqual([0, 0, 1]);
    expect(t5Bucket(-9, { numBuckets: 1, bidirectional: false })).toBe(0);
  });

  it('starts each bucket where the power is whole: 3 of 9 is half of the way', () => {
    // exact buckets 0 … 1, then two steps from 1 to 9: 1 · 9^(1/2) = 3
    const buckets = [1, 2, 3, 8, 9].map((n) =>
      t5Bucket(-n, { numBuckets: 3, maxDistance: 9, bidirectional: false }),
    );
    expect(buckets).toEqual([1, 1, 2, 2, 2]);
  });

  it.each(['MultiHeadAttention', 'GroupedQueryAttention'])(
    'G4: is refused in cross-attention, unless it is for it: %s',
    (variant) => {
      const config = { embedDim: 8, numHeads: 4, seed: 1 };
      const layerWith = (position?: ReturnType<typeof t5>) => {
        const parts = position ? { position } : {};
        return variant === 'MultiHeadAttention'
          ? new MultiHeadAttention(config, parts)
          : new GroupedQueryAttention({ ...config, numKeyValueHeads: 2 }, parts);
      };
      const [query, key] = [random([2, 3, 8], 1) as tf.Tensor3D, random([2, 5, 8], 2) as tf.Tensor3D];
      const [bare, forItself, forCross] = [
        layerWith(),
        layerWith(t5({ numHeads: 4, seed: 2 })),
        layerWith(t5({ numHeads: 4, seed: 2, crossAttention: true })),
      ];
      expect(() => forItself.apply({ query, key })).toThrow(/has no meaning in cross-attention/);
      expect(() => forItself.apply({ query, key: tf.clone(query) })).toThrow(
        /has no meaning in cross-attention/,
      );
      const [without, withBias] = [bare, forCross].map((layer) =>
        numbersOf(layer.apply({ query, key }).output),
      );
      expect(withBias).not.toEqual(without);
      const outputs = [bare, forItself].map((layer) => numbersOf(layer.apply({ query }).output));
      expect(outputs[1]).not.toEqual(outputs[0]);
      for (const layer of [bare, forItself, forCross]) layer.dispose();
    },
  );

  it('G6: does not scale scores', () => {
    const position = t5({ numHeads: 4, crossAttention: true });
    const layer = new MultiHeadAttention({ embedDim: 16, numHeads: 4 }, { position });
    position.setWeights({ table: tf.zeros([32, 4]) });
    const names = ['query', 'key', 'value', 'output'];
    layer.setWeights(Object.fromEntries(names.map((name) => [`${name}/kernel`, tf.eye(16)])));
    const token = (x: number) => [x, ...Array<number>(15).fill(0)];
    const [query, key] = [tf.tensor3d([[token(2)]]), tf.tensor3d([[token(2), token(0)]])];
    const { weights } = layer.apply({ query, key }, { returns: ['weights'] });
    expect(numbersOf(weights!).slice(0, 2)).toEqual([
      expect.closeTo(0.9820138, 6),
      expect.closeTo(0.0179862, 6),
    ]);
    const scaled = new MultiHeadAttention({ embedDim: 16, numHeads: 4, scale: 0 }, { position });
    expect(numbersOf(scaled.apply({ query, key }, { returns: ['weights'] }).weights!)[0]).toBeCloseTo(0.5, 6);
    layer.dispose();
    scaled.dispose();
    position.dispose();
  });

  it('G7: has a column for each head, which training reaches', () => {
    const position = t5({ numHeads: 5, numBuckets: 8, maxDistance: 20, seed: 3 });
    const { bias } = position.tables!(tf.zeros([1, 5, 1, 1]), [-2, 3]);
    expect(bias!.table.shape).toEqual([5, 8]);
    const layer = new MultiHeadAttention({ embedDim: 10, numHeads: 5, seed: 1 }, { position });
    const { name, variable } = layer.variables.at(-1)!;
    expect([name, variable.shape]).toEqual(['position/table', [8, 5]]);
    const query = random([1, 30, 10], 4) as tf.Tensor3D;
    const { grads } = tf.variableGrads(() => tf.sum(tf.square(layer.apply({ query }).output)));
    const perBucket = numbersOf(tf.sum(tf.abs(grads[variable.name]!), 1));
    expect(perBucket.map((sum) => sum > 0)).toEqual([true, true, true, true, false, true, true, true]); // none is +0
    layer.dispose();
    position.dispose();
  });

  it('shares one table among layers, and outlives them', () => {
    const position = t5({ numHeads: 2, seed: 3 });
    const layers = [1, 2].map(
      (seed) => new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed }, { position }),
    );
    const tables = layers.map((layer) => layer.variables.at(-1)!.variable);
    expect(tables[0]).toBe(tables[1]);
    layers[0]!.dispose();
    expect(tables[0]!.isDisposed).toBe(false);
    position.dispose();
    expect(() => layers[1]!.apply({ query: tf.zeros([1, 2, 4]) })).toThrow(/must not be disposed/);
    layers[1]!.dispose();
  });

  it('starts the same from the same config, and takes weights', () => {
    const config: T5Config = { numHeads: 2, numBuckets: 4, seed: 9 };
    const [one, other] = [t5(config), t5(JSON.parse(JSON.stringify(t5(config).config)))];
    expect(numbersOf(one.getWeights().table!)).toEqual(numbersOf(other.getWeights().table!));
    one.setWeights({ table: tf.ones([4, 2]) });
    expect(numbersOf(one.getWeights().table!)).toEqual(Array(8).fill(1));
    expect(() => one.setWeights({ table: tf.ones([2, 4]) })).toThrow(/must have its variable's shape/);
  });

  it.each<[object, RegExp]>([
    [{ numHeads: 0 }, /numHeads must be a whole number above 0/],
    [{ numHeads: 2, numBuckets: 1 }, /numBuckets must be at least 2/],
    [{ numHeads: 2, maxDistance: 8 }, /maxDistance must be above the distances that have a bucket each/],
    [{ numHeads: 2, maxDistance: 2 ** 21 }, /maxDistance must be at most 1048576/],
    [{ numHeads: 2, bidirectional: false, maxDistance: 16 }, /maxDistance must be above/],
    [{ numHeads: 2, crossAttention: 1 }, /crossAttention must be true or false/],
    [{ numHeads: 2, seed: 0.5 }, /seed must be a whole number/],
    [{ numHeads: 2, buckets: 4 }, /unknown +\[buckets\]/],
  ])('refuses %j', (config, message) => {
    expect(() => t5(config as T5Config)).toThrow(message);
  });
});

/** T5. The layers of an encoder share one table, those of a decoder another. */
function t5Attention({ isDecoder, ...sizes }: T5Sizes) {
  const { embedDim, numHeads, headDim, numBuckets, maxDistance } = sizes;
  const position = t5({ numHeads, numBuckets, maxDistance, bidirectional: !isDecoder });
  const layer = new MultiHeadAttention({ embedDim, numHeads, headDim }, { position });
  return { layer, position };
}

interface T5Sizes {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly headDim: number;
  readonly numBuckets: number;
  readonly maxDistance: number;
  readonly isDecoder: boolean;
}

interface T5Params {
  readonly bidirectional?: boolean;
  readonly num_buckets?: number;
  readonly max_distance?: number;
  readonly d_model?: number;
  readonly d_kv?: number;
  readonly num_heads?: number;
  readonly is_decoder?: boolean;
  readonly relative_attention_num_buckets?: number;
  readonly relative_attention_max_distance?: number;
}

const cases = [...goldenCases<T5Params>(file).values()];

describe('t5 gives what transformers gives', () => {
  it.each(cases.filter(({ outputs }) => outputs.bucket))('$name', ({ params, inputs, outputs }) => {
    const config = {
      bidirectional: params.bidirectional!,
      numBuckets: params.num_buckets!,
      maxDistance: params.max_distance!,
    };
    const goldenCase = golden(inputs, 'relative_position').data.map((distance) => t5Bucket(distance, config));
    expect([...goldenCase]).toEqual([...golden(outputs, 'bucket').data]);
  });

  it.each(cases.filter(({ outputs }) => outputs.out))('$name', async ({ params, inputs, outputs }) => {
    const { layer, position } = t5Attention({
      embedDim: params.d_model!,
      numHeads: params.num_heads!,
      headDim: params.d_kv!,
      numBuckets: params.relative_attention_num_buckets!,
      maxDistance: params.relative_attention_max_distance!,
      isDecoder: params.is_decoder!,
    });
    position.setWeights({ table: toTensor(golden(inputs, 'relative_attention_bias.weight')) });
    layer.setWeights(toTensors(fromLinears(inputs, { query: 'q', key: 'k', value: 'v', output: 'o' })));
    const query = toTensor(golden(inputs, 'hidden_states')) as tf.Tensor3D;
    const masks = inputs.mask ? [dense(tf.cast(toTensor(inputs.mask), 'bool')), causal()] : [undefined];
    for (const mask of masks) {
      expectClose({
        actual: await layerNumbers(layer, { query }, { returns: ['weights'], ...(mask && { mask }) }),
        expected: { output: golden(outputs, 'out').data, weights: golden(outputs, 'attn_weights').data },
      });
    }
    if (params.is_decoder) {
      const cache = new GrowingCache(layer.cacheShape(1));
      expectClose({
        actual: { output: toHost(tokenByToken(layer, query, { mask: causal(), cache })) },
        expected: { output: golden(outputs, 'out').data },
      });
      cache.dispose();
    }
    layer.dispose();
    position.dispose();
  });
});
