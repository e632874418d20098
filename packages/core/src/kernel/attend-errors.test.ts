import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { composed } from '../composed/composed';
import { ConfigError, ShapeError } from '../contract/errors';
import type { AttendOptions, AttentionInputs } from '../contract/kernel';
import type { TokenPositions } from '../contract/position';
import { dense } from '../masks/dense';
import { attend } from './attend';

const heads = (...shape: [number, number, number, number]): tf.Tensor4D =>
  tf.randomNormal(shape, 0, 1, 'float32', 1);
const good = () => ({ query: heads(2, 6, 5, 4), key: heads(2, 3, 7, 4), value: heads(2, 3, 7, 8) });
const disposed = (): tf.Tensor4D => {
  const tensor = heads(2, 6, 5, 4);
  tensor.dispose();
  return tensor;
};

type Bad = readonly [
  name: string,
  kind: unknown,
  message: RegExp,
  () => Partial<AttentionInputs>,
  () => AttendOptions,
];
const none = () => ({});

const badInputs: readonly Bad[] = [
  [
    'rank',
    ShapeError,
    /query must have rank 4[\s\S]*\[6, 5, 4\]/,
    () => ({ query: tf.zeros([6, 5, 4]) as never }),
    none,
  ],
  [
    'dtype',
    ShapeError,
    /key must be float32[\s\S]*int32/,
    () => ({ key: tf.zeros([2, 3, 7, 4], 'int32') }),
    none,
  ],
  ['no tensor', ShapeError, /value must be a tensor/, () => ({ value: undefined as never }), none],
  [
    'disposed',
    ShapeError,
    /query must not be disposed[\s\S]*\(disposed\)/,
    () => ({ query: disposed() }),
    none,
  ],
  [
    'batch',
    ShapeError,
    /same batch[\s\S]*\[1, 6, 5, 4\][\s\S]*\[2, 3, 7, 4\]/,
    () => ({ query: heads(1, 6, 5, 4) }),
    none,
  ],
  ['head size', ShapeError, /same head size/, () => ({ query: heads(2, 6, 5, 3) }), none],
  ['heads', ShapeError, /multiple of key\/value heads/, () => ({ query: heads(2, 4, 5, 4) }), none],
  [
    'lengths',
    ShapeError,
    /value must have the batch, heads and length of key/,
    () => ({ value: heads(2, 3, 6, 8) }),
    none,
  ],
];

function relative(
  kind: string,
  shape: number[],
  dtype: 'float32' | 'int32' = 'float32',
  rows = [0, 1, 2],
): AttendOptions {
  return {
    relative: { [kind]: { table: tf.zeros(shape, dtype), index: { from: -1, rows: Int32Array.from(rows) } } },
  };
}

function at(query: TokenPositions): AttendOptions {
  return { positions: { query, key: { start: [0] } } };
}

const badOptions: readonly Bad[] = [
  ['scale', ConfigError, /scale must be a finite number/, none, () => ({ scale: Number.NaN })],
  ['softcap', ConfigError, /softcap must be above 0/, none, () => ({ softcap: -1 })],
  ['softcap NaN', ConfigError, /softcap must be above 0/, none, () => ({ softcap: Number.NaN })],
  [
    'rate 1',
    ConfigError,
    /dropout.rate must be at least 0 and below 1/,
    none,
    () => ({ dropout: { rate: 1, seed: 1 } }),
  ],
  ['rate < 0', ConfigError, /dropout.rate must be/, none, () => ({ dropout: { rate: -0.1, seed: 1 } })],
  ['rate NaN', ConfigError, /dropout.rate must be/, none, () => ({ dropout: { rate: Number.NaN, seed: 1 } })],
  [
    'dropout seed',
    ConfigError,
    /dropout.seed must be a whole/,
    none,
    () => ({ dropout: { rate: 0.5, seed: 0.5 } }),
  ],
  [
    'bias shape',
    ShapeError,
    /bias must broadcast to \[B, Hq, Sq, Skv\]/,
    none,
    () => ({ bias: heads(2, 3, 5, 7) }),
  ],
  ['bias dtype', ShapeError, /bias must be float32/, none, () => ({ bias: tf.zeros([1, 1, 5, 7], 'bool') })],
  [
    'sinks',
    ShapeError,
    /sinkLogits must have one number for each/,
    none,
    () => ({ sinkLogits: tf.zeros([3]) }),
  ],
  [
    'returns',
    ConfigError,
    /returns may be a list of weights, logSumExp/,
    none,
    () => ({ returns: ['scores' as never] }),
  ],
  ['start', ConfigError, /queryStart must be a whole number/, none, () => ({ queryStart: 0.5 })],
  ['starts', ShapeError, /queryStart must have one number/, none, () => ({ queryStart: [1, 2, 3] })],
  [
    'unknown option',
    ConfigError,
    /known options only[\s\S]*unknown +\[causal\]/,
    none,
    () => ({ causal: true }) as never,
  ],
  [
    'a tensor as mask',
    ShapeError,
    /give dense\(mask\), or a `bias`/,
    none,
    () => ({ mask: tf.ones([5, 7]) as never }),
  ],
  ['a word as mask', ConfigError, /mask must be a Mask/, none, () => ({ mask: 'causal' as never })],
  ['bias 0', ShapeError, /bias must be a tensor/, none, () => ({ bias: 0 as never })],
  ['dropout number', ConfigError, /dropout must be an object/, none, () => ({ dropout: 0.5 as never })],
  ['returns word', ConfigError, /returns may be a list/, none, () => ({ returns: 'weights' as never })],
  ['start word', ConfigError, /queryStart must be a whole/, none, () => ({ queryStart: '1' as never })],
  [
    'scale',
    ConfigError,
    /scale must be a finite number\n +scale +"1"/,
    none,
    () => ({ scale: '1' as never }),
  ],
  ['scale beyond float32', ConfigError, /scale must be a finite number/, none, () => ({ scale: 1e39 })],
  ['table rank', ShapeError, /relative.keys.table must have rank 3/, none, () => relative('keys', [2, 3])],
  [
    'table heads',
    ShapeError,
    /relative.values.table must be \[1 \| Hq, R, Dv\]/,
    none,
    () => relative('values', [2, 3, 8]),
  ],
  ['table width', ShapeError, /relative.queries.table must be/, none, () => relative('queries', [1, 3, 5])],
  [
    'table dtype',
    ShapeError,
    /relative.bias.table must be float32/,
    none,
    () => relative('bias', [6, 3], 'int32'),
  ],
  [
    'table rows',
    ShapeError,
    /rows must be rows of the table/,
    none,
    () => relative('bias', [6, 3], 'float32', [0, 3]),
  ],
  ['table name', ConfigError, /unknown +\[key\]/, none, () => relative('key', [1, 3, 4])],
  [
    'positions',
    ConfigError,
    /positions.key must be/,
    none,
    () => ({ positions: { query: { start: [0] } } as never }),
  ],
  [
    'position starts',
    ShapeError,
    /positions.query.start must have one/,
    none,
    () => at({ start: [1, 2, 3] }),
  ],
  [
    'position list',
    ShapeError,
    /positions.query.each must have one/,
    none,
    () => at({ each: Int32Array.of(1, 2) }),
  ],
  ['mask shape', ShapeError, /mask must broadcast/, none, () => ({ mask: dense(tf.ones([7, 5], 'bool')) })],
];

describe('attend refuses', () => {
  it.each([...badInputs, ...badOptions])('refuses bad %s, and leaves nothing behind', (...bad) => {
    const [, kind, message, inputs, options] = bad;
    const call = { ...good(), ...inputs() } as AttentionInputs;
    const callOptions = options();
    const before = tf.memory().numTensors;
    expect(() => attend(composed(), call, callOptions)).toThrow(message);
    expect(() => attend(composed(), call, callOptions)).toThrow(kind as typeof ShapeError);
    const loss = (query: tf.Tensor) =>
      tf.sum(attend(composed(), { ...call, query: query as tf.Tensor4D }, callOptions).output) as tf.Scalar;
    if (call.query.rank === 4 && !call.query.isDisposed)
      expect(() => tf.grad(loss)(call.query)).toThrow(message);
    expect(tf.memory().numTensors).toBe(before);
  });

  it.each([
    ['inputs', () => attend(composed(), undefined as never), /inputs must be \{ query, key, value \}/],
    ['options', () => attend(composed(), good(), 3 as never), /options must be an object/],
    ['a kernel', () => attend('composed' as never, good()), /kernel must be an AttentionKernel/],
  ])('names %s that are none', (_name, act, message) => {
    expect(act).toThrow(message);
  });

  it('refuses stored rows that are not what they say', () => {
    const stored = {
      heads: 3,
      keySize: 4,
      valueSize: 8,
      lengths: [7, 9],
      order: { start: [0] },
      positions: { start: [0] },
      parts: [],
      materialize: () => ({ key: heads(2, 3, 7, 4), value: heads(2, 3, 7, 8) }),
    };
    const { query } = good();
    expect(() => attend(composed(), { query, stored })).toThrow(
      /materialized key must have the sizes of the storage/,
    );
    const broken = { ...stored, lengths: [7, Number.NaN] };
    expect(() => attend(composed(), { query, stored: broken })).toThrow(
      /lengths of stored rows must be whole/,
    );
    expect(() => attend(composed(), { query, stored: {} as never })).toThrow(
      /stored must be a StoredKeyValue/,
    );
    const shifted = { ...stored, order: { start: [0, 1, 2] } };
    expect(() => attend(composed(), { query, stored: shifted })).toThrow(/stored.order.start must have one/);
  });
});
