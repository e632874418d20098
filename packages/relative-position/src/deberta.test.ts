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
import { type Attention, dense, mergeHeads } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import file from './fixtures/hugging-face-deberta.json';
import { type DebertaConfig, type DebertaParts, deberta, debertaBucket, debertaLayerOptions } from './index';

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
  };
}

/** DeBERTa version 2 and 3. Version 3 projects embeddings by the layer's own weights: `share_att_key`. */
function debertaAttention(config: DebertaConfig, { shareKey }: { shareKey: boolean }) {
  const parts: DebertaParts = shareKey ? { projections: () => layer.variables } : {};
  const position = deberta(config, parts);
  const { embedDim, numHeads } = config;
  const options = { embedDim, numHeads, useBias: true, ...debertaLayerOptions(config) };
  const layer: Attention = new MultiHeadAttention(options, { position });
  return { layer, position };
}

/** The layer of a case, with its weights. */
function layerOf(found: GoldenCase<DebertaParams>) {
  const { inputs, params } = found;
  const { layer, position } = debertaAttention(configOf(found), { shareKey: params.share_att_key });
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
  it.each(cases)('$name', (found) => {
    const { inputs, outputs } = found;
    const { layer, position } = layerOf(found);
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

  it.each(cases)('$name: buckets', (found) => {
    const { data, shape } = golden(found.outputs, 'relative_pos');
    const S = shape[1]!;
    const config = configOf(found);
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

  it('starts a bucket where the power is whole: 40 of 80 is two thirds of the way from 10', () => {
    expect(debertaBucket(40, { buckets: 20, maxDistance: 81 })).toBe(16); // 10 + 9 · 2 / 3
    expect(debertaBucket(41, { buckets: 20, maxDistance: 81 })).toBe(17);
  });

  it('divides scores by sqrt((1 + terms) · D)', () => {
    const config = { embedDim: 12, numHeads: 3 };
    expect(debertaLayerOptions(config).scale).toBeCloseTo(1 / Math.sqrt(12), 12);
    expect(debertaLayerOptions({ ...config, terms: ['contentToPosition'] }).scale).toBeCloseTo(
      1 / Math.sqrt(8),
      12,
    );
  });

  it('takes the embeddings of another object, trains them, and leaves them to it', () => {
    const config = { embedDim: 4, numHeads: 2, maxDistance: 3, seed: 1 };
    const first = deberta(config);
    const embeddings = first.variables[0]!.variable;
    const second = deberta({ ...config, seed: 2 }, { embeddings });
    expect(second.variables.map(({ name }) => name)).toEqual([
      'embeddings',
      'key/kernel',
      'key/bias',
      'query/kernel',
      'query/bias',
    ]);
    expect(second.variables[0]!.variable).toBe(embeddings);
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 }, { position: second });
    const query = tf.randomNormal<tf.Rank.R3>([1, 5, 4], 0, 1, 'float32', 2);
    const { grads } = tf.variableGrads(() => tf.sum(tf.square(layer.apply({ query }).output)), [embeddings]);
    expect(numbersOf(tf.sum(tf.abs(grads[embeddings.name]!)))[0]).toBeGreaterThan(1e-3);
    second.dispose();
    expect(embeddings.isDisposed).toBe(false);
    first.dispose();
    layer.dispose();
  });

  it('trains the projections of the layer where it shares them', () => {
    const config = { embedDim: 4, numHeads: 2, maxDistance: 3, seed: 1 };
    const position = deberta(config, { projections: () => layer.variables });
    const layer: Attention = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 }, { position });
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

  it('says which projection it misses', () => {
    const position = deberta({ embedDim: 4, numHeads: 2 }, { projections: () => [] });
    expect(() => position.tables!(tf.zeros([1, 2, 1, 2]), [0, 1])).toThrow(
      /parts.projections must have key\/kernel/,
    );
    position.dispose();
  });

  it.each<[object, object, RegExp]>([
    [{ numHeads: 3 }, {}, /headDim must be a whole number above 0/],
    [{ buckets: 2 }, {}, /buckets must be at least 4/],
    [{ buckets: 7 }, {}, /buckets must be even/],
    [{ maxDistance: 2 ** 20 + 1 }, {}, /maxDistance must be at most 1048576/],
    [{ buckets: 8, maxDistance: 5 }, {}, /half of them less than maxDistance - 1/],
    [{ terms: [] }, {}, /terms may name contentToPosition, positionToContent/],
    [{ terms: ['c2p'] }, {}, /terms may name/],
    [{ terms: 'contentToPosition' }, {}, /terms may name/],
    [{ terms: ['contentToPosition', 'contentToPosition'] }, {}, /terms may name [\s\S]*each once/],
    [{ useBias: 'no' }, {}, /useBias must be true or false/],
    [{ span: 4 }, {}, /unknown +\[span\]/],
    [{}, { embedding: 1 }, /unknown +\[embedding\]/],
  ])('refuses %j with parts %j', (config, parts, message) => {
    expect(() => deberta({ embedDim: 4, numHeads: 2, ...config }, parts)).toThrow(message);
  });

  it('has layer options for a config that can be only', () => {
    const config = { embedDim: 4, numHeads: 2, terms: 'contentToPosition' } as unknown as DebertaConfig;
    expect(() => debertaLayerOptions(config)).toThrow(/terms may name/);
  });

  it('refuses embeddings of another shape', () => {
    const embeddings = tf.variable(tf.zeros([5, 4]));
    expect(() => deberta({ embedDim: 4, numHeads: 2, maxDistance: 3 }, { embeddings })).toThrow(
      /shape needed +\[6, 4\]/,
    );
    embeddings.dispose();
  });
});
