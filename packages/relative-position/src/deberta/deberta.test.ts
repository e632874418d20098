// DeBERTa's disentangled attention as transformers computes it.
import {
  expectClose,
  fromLinears,
  type GoldenCase,
  golden,
  goldenCases,
  numbersOf,
  toHost,
  toTensor,
  toTensors,
} from '@polyhead/conformance';
import { dense, mergeHeads } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import file from '../fixtures/hugging-face-deberta.json';
import {
  type DebertaConfig,
  type DebertaEmbeddings,
  deberta,
  debertaBucket,
  debertaEmbeddings,
} from '../index';

interface DebertaParams {
  readonly hidden_size: number;
  readonly num_heads: number;
  readonly pos_att_type: readonly ('c2p' | 'p2c')[];
  readonly position_buckets: number;
  readonly max_relative_positions: number;
  readonly share_att_key: boolean;
}

const cases = [...goldenCases<DebertaParams>(file).values()];

function configOf({ params }: GoldenCase<DebertaParams>): DebertaConfig {
  const names = { c2p: 'contentToPosition', p2c: 'positionToContent' } as const;
  return {
    embedDim: params.hidden_size,
    numHeads: params.num_heads,
    maxDistance: params.max_relative_positions,
    terms: params.pos_att_type.map((type) => names[type]),
    ...(params.position_buckets > 0 && { buckets: params.position_buckets }),
    ...(params.share_att_key && { projections: 'layer' as const }),
  };
}

function debertaAttention(config: DebertaConfig, embeddings?: DebertaEmbeddings) {
  const position = deberta(config, { embeddings });
  const { embedDim, numHeads } = config;
  return { layer: new MultiHeadAttention({ embedDim, numHeads, useBias: true }, { position }), position };
}

/** The layer of a case, with its weights. */
function layerOf(goldenCase: GoldenCase<DebertaParams>) {
  const { inputs, params } = goldenCase;
  const { layer, position } = debertaAttention(configOf(goldenCase));
  const embedDim = params.hidden_size;
  const linears = {
    ...(inputs['pos_key_proj.weight'] && { key: 'pos_key_proj' }),
    ...(inputs['pos_query_proj.weight'] && { query: 'pos_query_proj' }),
  };
  position.setWeights({
    embeddings: toTensor(golden(inputs, 'rel_embeddings')),
    ...toTensors(fromLinears(inputs, linears)),
  });
  layer.setWeights({
    ...toTensors(fromLinears(inputs, { query: 'query_proj', key: 'key_proj', value: 'value_proj' })),
    'output/kernel': tf.eye(embedDim), // the block projects outside of its attention
    'output/bias': tf.zeros([embedDim]),
  });
  return { layer, position };
}

describe('deberta gives what transformers gives', () => {
  it.each(cases)('$name', (goldenCase) => {
    const { inputs, outputs } = goldenCase;
    const { layer, position } = layerOf(goldenCase);
    const query = toTensor(golden(inputs, 'hidden_states')) as tf.Tensor3D;
    const mask = dense(tf.cast(toTensor(golden(inputs, 'mask')), 'bool'));
    const { headOutputs, weights } = layer.apply({ query }, { mask, returns: ['weights', 'headOutputs'] });
    expectClose({
      actual: { output: toHost(mergeHeads(headOutputs!)), weights: toHost(weights!) },
      expected: { output: golden(outputs, 'out').data, weights: golden(outputs, 'attn_weights').data },
    });
    layer.dispose();
    position.dispose();
  });

  it.each(cases)('$name: buckets', (goldenCase) => {
    const { data, shape } = golden(goldenCase.outputs, 'relative_pos');
    const S = shape[1]!;
    const config = configOf(goldenCase);
    const buckets = Array.from(data, (_, n) => debertaBucket(Math.floor(n / S) - (n % S), config));
    expect(buckets).toEqual([...data].map((x) => x + 0)); // no -0
  });
});

describe('deberta', () => {
  it('has a bucket for each near distance, then powers, up to the last', () => {
    const config = { buckets: 256, maxDistance: 512 };
    const bucket = (relative: number) => debertaBucket(relative, config);
    expect([0, 1, -1, 127, 128, -128].map(bucket)).toEqual([0, 1, -1, 127, 128, -128]);
    // 128 + ceil(ln(n / 128) / ln(511 / 128) · 127)
    expect([129, 180, 256, 511, -511].map(bucket)).toEqual([129, 160, 192, 255, -255]);
  });

  it.each([
    [2, 3],
    [2, 64],
    [3, 9],
    [4, 6],
    [5, 9],
    [7, 40],
    [32, 512],
  ])(
    'with %i buckets up to %i has the bucket of make_log_bucket_position, and its row',
    (buckets, maxDistance) => {
      // modeling_deberta_v2.py of transformers: mid = bucket_size // 2, then torch.where of these
      const mid = Math.floor(buckets / 2);
      const bucketOf = (relative: number) => {
        const n = relative < mid && relative > -mid ? mid - 1 : Math.abs(relative);
        const log =
          Math.ceil((Math.log(n / mid) / Math.log((maxDistance - 1) / mid)) * (mid - 1) - 1e-9) + mid;
        return n <= mid ? relative : log * Math.sign(relative);
      };
      const method = deberta({ embedDim: 2, numHeads: 1, buckets, maxDistance, seed: 1 });
      const [from, to] = [-3 * maxDistance, 2 * maxDistance];
      const { index } = method.tables!(tf.zeros([1, 1, 1, 2]), [from, to]).keys!;
      for (let distance = from; distance < to; distance++) {
        const bucket = bucketOf(-distance);
        expect(debertaBucket(-distance, { buckets, maxDistance }) + 0).toBe(bucket + 0);
        const row = Math.min(2 * buckets - 1, Math.max(0, bucket + buckets));
        expect(index.rows![distance - index.from]).toBe(row);
      }
      method.dispose();
    },
  );

  it('starts a bucket where the power is whole: 40 of 80 is two thirds of the way from 10', () => {
    expect(debertaBucket(40, { buckets: 20, maxDistance: 81 })).toBe(16); // 10 + 9 · 2 / 3
    expect(debertaBucket(41, { buckets: 20, maxDistance: 81 })).toBe(17);
  });

  it('divides scores by sqrt((1 + terms) · D), unless the layer says otherwise', () => {
    const config = { embedDim: 12, numHeads: 3 };
    const [both, one] = [deberta(config), deberta({ ...config, terms: ['contentToPosition'] })];
    expect(both.scale).toBeCloseTo(1 / Math.sqrt(12), 12);
    expect(one.scale).toBeCloseTo(1 / Math.sqrt(8), 12);
    both.dispose();
    one.dispose();
  });

  it('takes embeddings that others share, trains them, and leaves them to their owner', () => {
    const config = { embedDim: 4, numHeads: 2, maxDistance: 3, seed: 2 };
    const embeddings = debertaEmbeddings({ embedDim: 4, maxDistance: 3, seed: 1 });
    const position = deberta(config, { embeddings });
    expect(position.variables.map(({ name }) => name)).toEqual([
      'embeddings',
      'key/kernel',
      'key/bias',
      'query/kernel',
      'query/bias',
    ]);
    const { variable } = embeddings.variables[0]!;
    expect(position.variables[0]!.variable).toBe(variable);
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 }, { position });
    const query = tf.randomNormal<tf.Rank.R3>([1, 5, 4], 0, 1, 'float32', 2);
    const { grads } = tf.variableGrads(() => tf.sum(tf.square(layer.apply({ query }).output)), [variable]);
    expect(numbersOf(tf.sum(tf.abs(grads[variable.name]!)))[0]).toBeGreaterThan(1e-3);
    position.dispose();
    expect(variable.isDisposed).toBe(false);
    const other = deberta({ ...config, seed: 3 }, { embeddings });
    embeddings.dispose();
    expect(() => other.tables!(tf.zeros([1, 2, 1, 2]), [0, 1])).toThrow(
      /debertaEmbeddings must not be disposed/,
    );
    other.dispose();
    layer.dispose();
  });

  it('normalizes embeddings that are shared, and trains the norm', () => {
    const sizes = { embedDim: 4, maxDistance: 3 };
    const embeddings = debertaEmbeddings({ ...sizes, normEpsilon: 1e-7, seed: 1 });
    expect(embeddings.variables.map(({ name }) => name)).toEqual(['embeddings', 'gain', 'offset']);
    const rows = numbersOf(embeddings.vectors()); // [6, 4]
    for (let row = 0; row < 6; row++) {
      const numbers = rows.slice(4 * row, 4 * row + 4);
      const mean = numbers.reduce((sum, x) => sum + x, 0) / 4;
      expect(mean).toBeCloseTo(0, 5);
      expect(numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 4).toBeCloseTo(1, 4);
    }
    const position = deberta({ ...sizes, numHeads: 2, seed: 2 }, { embeddings });
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 }, { position });
    const query = tf.randomNormal<tf.Rank.R3>([1, 5, 4], 0, 1, 'float32', 2);
    const trained = embeddings.variables.map(({ variable }) => variable);
    const { grads } = tf.variableGrads(() => tf.sum(tf.square(layer.apply({ query }).output)), trained);
    for (const { name } of trained) expect(numbersOf(tf.sum(tf.abs(grads[name]!)))[0]).toBeGreaterThan(1e-4);
    for (const part of [layer, position, embeddings]) part.dispose();
  });

  it('trains the projections of the layer where it shares them', () => {
    const position = deberta({ embedDim: 4, numHeads: 2, maxDistance: 3, projections: 'layer', seed: 1 });
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 }, { position });
    expect(position.variables.map(({ name }) => name)).toEqual(['embeddings']);
    const query = tf.randomNormal<tf.Rank.R3>([1, 5, 4], 0, 1, 'float32', 2);
    const loss = () => numbersOf(tf.sum(tf.square(layer.apply({ query }).output)))[0]!;
    const kernel = layer.variables.find(({ name }) => name === 'key/kernel')!.variable;
    const { grads } = tf.variableGrads(() => tf.sum(tf.square(layer.apply({ query }).output)), [kernel]);
    const step = tf.mul(grads[kernel.name]!, 1e-2);
    const start = loss();
    kernel.assign(tf.sub(kernel, step));
    const expected = numbersOf(tf.sum(tf.mul(step, grads[kernel.name]!)))[0]!;
    expect((start - loss()) / expected).toBeCloseTo(1, 1);
    layer.dispose();
    position.dispose();
  });

  it('says what projections of the layer it needs', () => {
    const position = deberta({ embedDim: 4, numHeads: 2, projections: 'layer' });
    const query = tf.zeros<tf.Rank.R4>([1, 2, 1, 2]);
    expect(() => position.tables!(query, [0, 1])).toThrow(/projections: 'layer' needs the layer/);
    const narrow = tf.variable(tf.zeros([3, 4]));
    expect(() => position.tables!(query, [0, 1], { name: 'layer', weight: () => narrow })).toThrow(
      /the layer's query\/kernel must project embeddings to heads/,
    );
    expect(() => new MultiHeadAttention({ embedDim: 4, numHeads: 4, headDim: 2 }, { position })).toThrow(
      /deberta: the layer must have the numHeads of its position method/,
    );
    expect(
      () => new GroupedQueryAttention({ embedDim: 4, numHeads: 2, numKeyValueHeads: 1 }, { position }),
    ).toThrow(/needs a key head for each query head/);
    narrow.dispose();
    position.dispose();
  });

  it.each<[object, object, RegExp]>([
    [{ numHeads: 3 }, {}, /headDim must be a whole number above 0/],
    [{ buckets: 1 }, {}, /buckets must be at least 2/],
    [{ buckets: 2, maxDistance: 2 }, {}, /half of them less than maxDistance - 1/],
    [{ projections: 'shared' }, {}, /projections must be one of own, layer/],
    [{ projections: 'layer', useBias: true }, {}, /useBias is for projections of its own/],
    [{ maxDistance: 2 ** 20 + 1 }, {}, /maxDistance must be at most 1048576/],
    [{ buckets: 8, maxDistance: 5 }, {}, /half of them less than maxDistance - 1/],
    [{ terms: [] }, {}, /terms may name contentToPosition, positionToContent/],
    [{ terms: ['c2p'] }, {}, /terms may name/],
    [{ terms: 'contentToPosition' }, {}, /terms may name/],
    [{ terms: ['contentToPosition', 'contentToPosition'] }, {}, /terms may name [\s\S]*each once/],
    [{ useBias: 'no' }, {}, /useBias must be true or false/],
    [{ span: 4 }, {}, /unknown +\[span\]/],
    [{}, { embedding: 1 }, /unknown +\[embedding\]/],
    [{}, { embeddings: {} }, /parts.embeddings must be made by debertaEmbeddings/],
  ])('refuses %j with parts %j', (config, parts, message) => {
    expect(() => deberta({ embedDim: 4, numHeads: 2, ...config }, parts)).toThrow(message);
  });

  it('refuses embeddings of another shape', () => {
    const embeddings = debertaEmbeddings({ embedDim: 4, buckets: 4 });
    expect(() => deberta({ embedDim: 4, numHeads: 2, maxDistance: 3 }, { embeddings })).toThrow(
      /shape needed +\[6, 4\]/,
    );
    embeddings.dispose();
    expect(() => debertaEmbeddings({ embedDim: 4, buckets: 1 })).toThrow(
      /debertaEmbeddings: buckets must be/,
    );
    expect(() => debertaEmbeddings({ embedDim: 4, numHeads: 2 } as never)).toThrow(/unknown +\[numHeads\]/);
  });
});
