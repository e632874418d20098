import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { attend } from './attend';
import { composed } from './composed/composed';
import { ConfigError, ShapeError, UnsupportedError } from './errors';
import type { AttendOptions, AttentionInputs, KernelCall } from './kernel';
import { causal } from './masks/causal';
import { dense } from './masks/dense';

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
  ['returns', ConfigError, /returns may name/, none, () => ({ returns: ['scores' as never] })],
  ['start', ConfigError, /queryStart must be whole/, none, () => ({ queryStart: 0.5 })],
  ['starts', ShapeError, /queryStart must have one number/, none, () => ({ queryStart: [1, 2, 3] })],
  ['mask shape', ShapeError, /mask must broadcast/, none, () => ({ mask: dense(tf.ones([7, 5], 'bool')) })],
];

describe('attend', () => {
  it.each([...badInputs, ...badOptions])('refuses bad %s, and leaves nothing behind', (...bad) => {
    const [, kind, message, inputs, options] = bad;
    const call = { ...good(), ...inputs() } as AttentionInputs;
    const given = options();
    const before = tf.memory().numTensors;
    expect(() => attend(composed, call, given)).toThrow(message);
    expect(() => attend(composed, call, given)).toThrow(kind as typeof ShapeError);
    const loss = (query: tf.Tensor) =>
      tf.sum(attend(composed, { ...call, query: query as tf.Tensor4D }, given).output) as tf.Scalar;
    if (call.query.rank === 4 && !call.query.isDisposed)
      expect(() => tf.grad(loss)(call.query)).toThrow(message);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('refuses a dense mask disposed since, though its plan is remembered', () => {
    const tensor = tf.ones([5, 7], 'bool');
    const mask = dense(tensor);
    attend(composed, good(), { mask });
    tensor.dispose();
    expect(() => attend(composed, good(), { mask })).toThrow(/mask must not be disposed/);
  });

  it('gives a kernel a call with defaults filled in and the mask compiled', () => {
    let seen: KernelCall | undefined;
    const kernel = {
      name: 'looking',
      unsupported: () => [],
      run: (call: KernelCall) => {
        seen = call;
        return composed.run(call);
      },
    };
    attend(kernel, good(), { mask: causal() });
    expect(seen).toMatchObject({
      scale: 0.5,
      order: { query: { start: [2] }, key: { start: [0] } },
      positions: { query: { start: [2] }, key: { start: [0] } },
      gradientDepth: 0,
    });
    expect(seen!.plan.pairs).toBe(2 * 6 * (3 + 4 + 5 + 6 + 7));
    const loss = (q: tf.Tensor) =>
      tf.sum(attend(kernel, { ...good(), query: q as tf.Tensor4D }).output) as tf.Scalar;
    tf.grad(loss)(heads(2, 6, 5, 4));
    expect(seen!.gradientDepth).toBe(1);
  });

  it('throws the reasons of a kernel that cannot, and names the backend', () => {
    const kernel = { ...composed, name: 'picky', unsupported: () => ['heads of 4 are too small'] };
    expect(() => attend(kernel, good())).toThrow(UnsupportedError);
    expect(() => attend(kernel, good())).toThrow(
      new RegExp(
        `picky cannot run this call on backend "${tf.getBackend()}"[\\s\\S]*heads of 4 are too small`,
      ),
    );
  });

  it('keeps the results, and nothing else', () => {
    const inputs = good();
    const before = tf.memory().numTensors;
    attend(composed, inputs, { mask: causal(), returns: ['weights', 'logSumExp'], softcap: 3 });
    expect(tf.memory().numTensors).toBe(before + 3);
  });

  it('takes calls without keys, without queries and without a batch', () => {
    const returns = ['weights', 'logSumExp'] as const;
    const noKeys = { query: heads(2, 6, 5, 4), key: tf.zeros([2, 3, 0, 4]), value: tf.zeros([2, 3, 0, 8]) };
    const result = attend(composed, noKeys as AttentionInputs, { mask: causal(), returns });
    expect([...new Set(result.output.dataSync())]).toEqual([0]);
    expect([...new Set(result.logSumExp!.dataSync())]).toEqual([-Infinity]);
    expect(result.weights!.shape).toEqual([2, 6, 5, 0]);
    const noQueries = attend(
      composed,
      { ...good(), query: tf.zeros([2, 6, 0, 4]) as tf.Tensor4D },
      { returns },
    );
    expect(noQueries.output.shape).toEqual([2, 6, 0, 8]);
    expect(noQueries.logSumExp!.shape).toEqual([2, 6, 0]);
    const empty = {
      query: tf.zeros([0, 6, 5, 4]),
      key: tf.zeros([0, 3, 7, 4]),
      value: tf.zeros([0, 3, 7, 8]),
    };
    expect(attend(composed, empty as AttentionInputs, { mask: causal() }).output.shape).toEqual([0, 6, 5, 8]);
    const loss = (q: tf.Tensor) =>
      tf.sum(attend(composed, { ...noKeys, query: q } as AttentionInputs).output) as tf.Scalar;
    expect([...new Set(tf.grad(loss)(noKeys.query).dataSync())]).toEqual([0]);
  });
});
