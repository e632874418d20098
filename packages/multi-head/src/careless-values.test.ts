import {
  attend,
  ConfigError,
  composed,
  countParameters,
  firstSupported,
  fromSequenceMajor,
  isAttentionError,
  mergeHeads,
  scaledDotProductAttention,
  splitHeads,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { MultiHeadAttention } from './multi-head-attention';

const any = (value: unknown) => value as never;
const x = () => tf.zeros([1, 2, 4]);
const heads = (n = 4) => tf.zeros([1, n, 2, 2]);
const layer = () => new MultiHeadAttention({ embedDim: 4, numHeads: 2 });
const inputs = () => ({ query: heads(), key: heads(), value: heads() });

/** What careless callers write, and a part of what they are told. */
const refused: { readonly [name: string]: readonly [call: () => unknown, message: RegExp] } = {
  'a layer without a config': [() => new MultiHeadAttention(any(undefined)), /config must be an object/],
  'a config of null': [() => new MultiHeadAttention(any(null)), /config must be an object/],
  'a size beyond memory': [
    () => new MultiHeadAttention({ embedDim: 2 ** 30, numHeads: 1 }),
    /less than 2\^31 numbers/,
  ],
  'a matrix beyond memory': [
    () => new MultiHeadAttention({ embedDim: 2 ** 16, numHeads: 2 ** 16 }),
    /less than 2\^31 numbers/,
  ],
  'a cache of no batch': [() => layer().cacheShape(Number.NaN), /batch must be a whole number/],
  'an initializer of 5': [
    () => new MultiHeadAttention({ embedDim: 4, numHeads: 2 }, { initializer: any(5) }),
    /initializer must be a function/,
  ],
  'a bias of no projection': [
    () => new MultiHeadAttention({ embedDim: 4, numHeads: 2, useBias: any(['q']) }),
    /list of query, key, value, output/,
  ],
  'positions that nothing would read': [
    () => layer().apply({ query: x() }, { positions: [{ start: [5] }] }),
    /positions need a position method/,
  ],
  'a tensor for inputs': [() => layer().apply(any(x())), /give \{ query: tensor \}/],
  'no inputs': [() => layer().apply(any(undefined)), /inputs must be an object/],
  'no weights': [() => layer().setWeights(any(null)), /tensors by name/],
  'a transposed weight': [
    () => {
      const wide = new MultiHeadAttention({ embedDim: 4, numHeads: 2, headDim: 3 });
      const weights = wide.getWeights();
      wide.setWeights({ ...weights, 'query/kernel': tf.transpose(weights['query/kernel']!) });
    },
    /\[in, out\]; transpose it/,
  ],
  'options of 5': [
    () => scaledDotProductAttention(x() as tf.Tensor3D, x() as tf.Tensor3D, x() as tf.Tensor3D, any(5)),
    /^scaledDotProductAttention: options/,
  ],
  'another batch of keys': [
    () =>
      scaledDotProductAttention(
        x() as tf.Tensor3D,
        tf.zeros<tf.Rank.R3>([2, 2, 4]),
        tf.zeros<tf.Rank.R3>([2, 2, 4]),
      ),
    /^scaledDotProductAttention: query and key/,
  ],
  'no candidates': [() => firstSupported(any(null)), /list of kernels/],
  'a candidate of null': [() => firstSupported([any(null)]), /AttentionKernel/],
  'a candidate that is none': [() => firstSupported([any({})]), /AttentionKernel/],
  'no arguments': [() => attend(any(undefined), any(undefined)), /AttentionKernel/],
  'inputs of null': [() => attend(composed(), any(null)), /inputs must be/],
  'fewer heads of values': [
    () => attend(composed(), { ...inputs(), value: heads(2) }),
    /where one has fewer, repeat its heads/,
  ],
  'a table of 0': [() => attend(composed(), inputs(), { relative: { bias: any(0) } }), /relative.bias/],
  'a table with a stranger': [
    () =>
      attend(composed(), inputs(), {
        relative: { bias: any({ table: tf.zeros([4, 1]), index: { from: 0 }, rows: 5 }) },
      }),
    /relative.bias may hold known options only/,
  ],
  'positions beyond 32 bits': [
    () =>
      attend(composed(), inputs(), {
        positions: { query: { start: [2 ** 31 - 2] }, key: { start: [0] } },
      }),
    /within 32 bits/,
  ],
  'a distance beyond 32 bits': [
    () =>
      attend(composed(), inputs(), {
        relative: { bias: { table: tf.zeros([4, 1]), index: { from: 2 ** 31 } } },
      }),
    /index.from must be a whole number/,
  ],
  'heads of 5': [() => splitHeads(any(5), 2), /x must be a tensor/],
  'no heads': [() => splitHeads(x(), 0), /numHeads/],
  'heads without an axis of heads': [() => mergeHeads(x()), /rank 4/],
  'another layout without heads': [() => fromSequenceMajor(x()), /rank 4/],
  'shapes of null': [() => countParameters(any(null)), /lists of sizes/],
};

describe('careless values', () => {
  for (const [name, [call, message]] of Object.entries(refused)) {
    it(`are told what must hold: ${name}`, () => {
      const before = tf.memory().numTensors;
      let error: unknown;
      tf.tidy(() => {
        try {
          call();
        } catch (thrown) {
          error = thrown;
        }
      });
      expect(isAttentionError(error), `${error}`).toBe(true);
      expect((error as Error).message).toMatch(message);
      tf.disposeVariables();
      expect(tf.memory().numTensors).toBeLessThanOrEqual(before);
    });
  }

  it('of null are options left out', () => {
    expect(attend(composed(), inputs(), any(null)).kernel).toBe('composed');
    expect(layer().apply({ query: x(), key: any(null) }, any(null)).output.shape).toEqual([1, 2, 4]);
    expect(new MultiHeadAttention({ embedDim: 4, numHeads: 2, scale: any(null) }, any(null)).config).toEqual({
      embedDim: 4,
      numHeads: 2,
    });
    const positions = { query: { start: undefined, each: Int32Array.of(0, 1) }, key: { start: [0] } };
    expect(attend(composed(), inputs(), { positions: any(positions) }).kernel).toBe('composed');
  });

  it('are shown in errors, whatever they are', () => {
    const odd = { nothing: Object.create(null), list: [Object.create(null), Symbol('s'), 1n] };
    expect(new ConfigError('here', 'must hold', odd).message).toContain('Symbol(s)');
  });
});
