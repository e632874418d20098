// Known traps of linear biases, and what BLOOM and MPT compute.
import {
  expectClose,
  expectNumbers,
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
import { causal, composed, dense, type Mask } from '@polyhead/core';
import { attendHeads } from '@polyhead/core/layer';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import file from './fixtures/hugging-face-alibi.json';
import { type AlibiConfig, alibi, alibiSlopes } from './index';

/** One head whose products are 0, so that weights come from the bias alone. */
function weighted(
  Sq: number,
  values: readonly number[],
  { mask, ...config }: Partial<AlibiConfig> & { mask?: Mask },
) {
  const Skv = values.length;
  return attendHeads({
    query: tf.zeros([1, 1, Sq, 1]),
    key: tf.zeros([1, 1, Skv, 1]),
    value: tf.tensor4d([...values], [1, 1, Skv, 1]),
    cross: Sq !== Skv,
    kernel: composed(),
    position: alibi({ numHeads: 1, slopes: [0.5], ...config }),
    returns: ['weights'],
    ...(mask && { mask }),
  });
}

describe('alibi', () => {
  it('F1: has the slopes 1/2 … 1/256 for 8 heads', () => {
    expect(alibiSlopes(8)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((h) => 2 ** -h));
  });

  it('F2: fills up other head counts with every second slope of twice as many', () => {
    expect(alibiSlopes(6)).toEqual([0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]);
    const further = [Math.SQRT1_2, 0.35355339, 0.1767767, 0.08838835];
    expect(alibiSlopes(12)).toEqual([...alibiSlopes(8), ...further.map((slope) => expect.closeTo(slope, 8))]);
    expect(alibiSlopes(3)).toEqual([0.0625, 0.00390625, 0.25]);
    expect(alibiSlopes(1)).toEqual([2 ** -8]);
  });

  it.each([true, false])('F3: weighs near tokens more under a causal mask: symmetric %s', (symmetric) => {
    const { output } = weighted(4, [1, 2, 3, 4], { mask: causal(), symmetric });
    expectNumbers(output, [1, 1.6224593, 2.3201567, 3.0845765]);
  });

  it('F4: counts the distance from where the query stands', () => {
    const { weights } = weighted(1, [1, 2, 3, 4], {});
    expectNumbers(weights!, [0.1015363, 0.1674051, 0.2760043, 0.4550542]);
  });

  it('F6: adds nothing for the newest key of a decode step', () => {
    const { bias } = alibi({ numHeads: 2 }).tables!(tf.zeros([1, 2, 1, 1]), [-3, 1]);
    const rows = numbersOf(bias!.table);
    expect([rows[3], rows[7]]).toEqual([expect.closeTo(0), expect.closeTo(0)]);
    expect(bias!.index).toEqual({ from: -3 });
  });

  it('F7: counts distances both ways', () => {
    const { weights } = weighted(3, [1, 2, 3], {});
    expect(numbersOf(weights!).slice(3, 6)).toEqual(
      [0.2740686, 0.4518627, 0.2740686].map((x) => expect.closeTo(x, 6)),
    );
  });

  it('F9: has a slope for each query head where key/value heads are shared', () => {
    const config = { embedDim: 12, numHeads: 6, seed: 1 };
    const grouped = new GroupedQueryAttention(
      { ...config, numKeyValueHeads: 2 },
      { position: alibi({ numHeads: 6 }) },
    );
    // Projections of zeros: weights come from the slopes alone.
    const zeros = Object.entries(grouped.getWeights()).map(([name, x]) => [name, tf.zerosLike(x)]);
    grouped.setWeights(Object.fromEntries(zeros));
    const { weights } = grouped.apply(
      { query: tf.ones([1, 2, 12]) },
      { mask: causal(), returns: ['weights'] },
    );
    const ofFarKey = numbersOf(tf.slice(weights!, [0, 0, 1, 0], [1, 6, 1, 1]));
    expect(ofFarKey).toEqual(alibiSlopes(6).map((slope) => expect.closeTo(1 / (1 + Math.exp(slope)), 6)));
    grouped.dispose();
  });

  it('trains its slopes, which start as given', () => {
    const position = alibi({ numHeads: 2, slopes: [0.5, 0.25], trainable: true });
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 }, { position });
    expect(layer.variables.at(-1)!.name).toBe('position/slopes');
    const { variable } = layer.variables.at(-1)!;
    expect(numbersOf(variable)).toEqual([0.5, 0.25]);
    const query = tf.randomNormal<tf.Rank.R3>([1, 5, 4], 0, 1, 'float32', 2);
    const { grads } = tf.variableGrads(() => tf.sum(tf.square(layer.apply({ query }).output)));
    expect(numbersOf(grads[variable.name]!).every((x) => Math.abs(x) > 1e-6)).toBe(true);
    layer.dispose();
    position.dispose();
    expect(variable.isDisposed).toBe(true);
  });

  it('has no variables unless its slopes are trained', () => {
    const position = alibi({ numHeads: 2 });
    expect(position.variables).toEqual([]);
    expect(position.getWeights()).toEqual({});
  });

  it.each<[object, RegExp]>([
    [{ numHeads: 0 }, /numHeads must be a whole number above 0/],
    [{ numHeads: 2, slopes: [1] }, /slopes must have a number for each head/],
    [{ numHeads: 2, slopes: [1, Number.NaN] }, /slopes must have a number for each head/],
    [{ numHeads: 1, slopes: 'a' }, /slopes must have a number for each head/],
    [{ numHeads: 2, symmetric: 'yes' }, /symmetric must be true or false/],
    [{ numHeads: 2 ** 26 }, /numHeads must be at most 1048576/],
    [{ numHeads: 2, slope: 1 }, /unknown +\[slope\]/],
  ])('refuses %j', (config, message) => {
    expect(() => alibi(config as AlibiConfig)).toThrow(message);
  });
});

/** BLOOM (with biases) and MPT (without): the bias grows with the place of the key. */
function bloom({ embedDim, numHeads, useBias }: { embedDim: number; numHeads: number; useBias: boolean }) {
  const position = alibi({ numHeads, symmetric: false });
  return new MultiHeadAttention({ embedDim, numHeads, useBias }, { position });
}

interface AlibiParams {
  readonly num_heads?: number;
}

const cases = [...goldenCases<AlibiParams>(file).values()];

describe('alibi gives what transformers gives', () => {
  it.each(cases.filter(({ outputs }) => outputs.bloom_slopes))('$name', ({ params, outputs }) => {
    for (const name of ['bloom_slopes', 'mpt_slopes']) {
      expectClose({
        actual: { slopes: Float64Array.from(alibiSlopes(params.num_heads!)) },
        expected: { slopes: golden(outputs, name).data },
      });
    }
  });

  // BLOOM's rows are grouped by head, its residual is added to the output; MPT's are all queries, all keys, all values.
  it.each(['bloom_attention', 'mpt_attention'])('%s', async (name) => {
    const { inputs, outputs } = cases.find((goldenCase) => goldenCase.name === name)!;
    const [E, H, D] = [8, 4, 2];
    const isBloom = name.startsWith('bloom');
    const rows = (part: number) =>
      Array.from({ length: E }, (_, row) =>
        isBloom ? (Math.floor(row / D) * 3 + part) * D + (row % D) : part * E + row,
      );
    const fused = isBloom ? 'query_key_value' : 'Wqkv';
    const weights = fromLinears(inputs, {
      query: { name: fused, rows: rows(0) },
      key: { name: fused, rows: rows(1) },
      value: { name: fused, rows: rows(2) },
      output: isBloom ? 'dense' : 'out_proj',
    });
    const layer = bloom({ embedDim: E, numHeads: H, useBias: isBloom });
    layer.setWeights(toTensors(weights));
    const query = toTensor(golden(inputs, 'hidden_states')) as tf.Tensor3D;
    const allowed = tf.cast(toTensor(golden(inputs, 'mask')), 'bool');
    const actual = await layerNumbers(layer, { query }, { mask: dense(allowed), returns: ['weights'] });
    const residual = inputs.residual?.data ?? new Float64Array(actual.output!.length);
    const withResidual = (output: Float64Array) => output.map((x, n) => x + residual[n]!);
    expectClose({
      actual: { ...actual, output: withResidual(actual.output!) },
      expected: { output: golden(outputs, 'out').data, weights: golden(outputs, 'attn_weights').data },
    });
    const cache = new GrowingCache(layer.cacheShape(1));
    const steps = tokenByToken(layer, query, { mask: causal(), cache });
    expectClose({
      actual: { output: withResidual(toHost(steps)) },
      expected: { output: golden(outputs, 'out').data },
    });
    cache.dispose();
    layer.dispose();
  });
});
