import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { composed } from '../composed/composed';
import { UnsupportedError } from '../contract/errors';
import type { AttentionInputs, AttentionKernel, KernelCall } from '../contract/kernel';
import { causal } from '../masks/causal';
import { dense } from '../masks/dense';
import { attend } from './attend';
import { firstSupported } from './first-supported';
import { withGradient } from './with-gradient';

const heads = (...shape: [number, number, number, number]): tf.Tensor4D =>
  tf.randomNormal(shape, 0, 1, 'float32', 1);
const good = () => ({ query: heads(2, 6, 5, 4), key: heads(2, 3, 7, 4), value: heads(2, 3, 7, 8) });
describe('attend', () => {
  it('takes null for an option left out', () => {
    const nothing = {
      scale: null,
      mask: null,
      bias: null,
      softcap: null,
      sinkLogits: null,
      returns: null,
    } as never;
    const inputs = good();
    expect(attend(composed(), inputs, nothing).output.dataSync()).toEqual(
      attend(composed(), inputs).output.dataSync(),
    );
  });

  it('refuses a dense mask disposed since, though its plan is remembered', () => {
    const tensor = tf.ones([5, 7], 'bool');
    const mask = dense(tensor);
    attend(composed(), good(), { mask });
    tensor.dispose();
    expect(() => attend(composed(), good(), { mask })).toThrow(/mask must not be disposed/);
  });

  it('gives a kernel a call with defaults filled in and the mask compiled', () => {
    let seen: KernelCall | undefined;
    const kernel = {
      name: 'looking',
      unsupported: () => [],
      run: (call: KernelCall) => {
        seen = call;
        return composed().run(call);
      },
    };
    attend(kernel, good(), { mask: causal() });
    expect(seen).toMatchObject({
      scale: 0.5,
      order: { query: { start: [2] }, key: { start: [0] } },
      positions: { query: { start: [2] }, key: { start: [0] } },
      isTaped: false,
      sizes: { B: 2, Hq: 6, Hkv: 3, Sq: 5, Skv: 7, D: 4, Dv: 8 },
    });
    expect(seen!.plan.pairs).toBe(2 * 6 * (3 + 4 + 5 + 6 + 7));
    const loss = (q: tf.Tensor) =>
      tf.sum(attend(kernel, { ...good(), query: q as tf.Tensor4D }).output) as tf.Scalar;
    tf.grad(loss)(heads(2, 6, 5, 4));
    expect(seen!.isTaped).toBe(true);
  });

  it('throws the reasons of a kernel that cannot, and names the backend', () => {
    const kernel = { ...composed(), name: 'picky', unsupported: () => ['heads of 4 are too small'] };
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
    attend(composed(), inputs, { mask: causal(), returns: ['weights', 'logSumExp'], softcap: 3 });
    expect(tf.memory().numTensors).toBe(before + 3);
  });

  it('takes calls without keys, without queries and without a batch', () => {
    const returns = ['weights', 'logSumExp'] as const;
    const noKeys = { query: heads(2, 6, 5, 4), key: tf.zeros([2, 3, 0, 4]), value: tf.zeros([2, 3, 0, 8]) };
    const result = attend(composed(), noKeys as AttentionInputs, { mask: causal(), returns });
    expect([...new Set(result.output.dataSync())]).toEqual([0]);
    expect([...new Set(result.logSumExp!.dataSync())]).toEqual([-Infinity]);
    expect(result.weights!.shape).toEqual([2, 6, 5, 0]);
    const noQueries = attend(
      composed(),
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
    expect(attend(composed(), empty as AttentionInputs, { mask: causal() }).output.shape).toEqual([
      0, 6, 5, 8,
    ]);
    const loss = (q: tf.Tensor) =>
      tf.sum(attend(composed(), { ...noKeys, query: q } as AttentionInputs).output) as tf.Scalar;
    expect([...new Set(tf.grad(loss)(noKeys.query).dataSync())]).toEqual([0]);
  });
});

describe('a kernel is judged', () => {
  const giving = (result: unknown, unsupported: unknown) =>
    ({ name: 'careless', unsupported: () => unsupported, run: () => result }) as AttentionKernel;
  const output = () => tf.zeros([2, 6, 5, 8]);
  const disposedOutput = () => {
    const tensor = output();
    tensor.dispose();
    return tensor;
  };
  const wrong: readonly (readonly [name: string, result: () => unknown])[] = [
    ['nothing', () => undefined],
    ['null', () => null],
    ['a Promise', () => Promise.resolve({ output: output() })],
    ['no output', () => ({})],
    ['an output of null', () => ({ output: null })],
    ['a disposed output', () => ({ output: disposedOutput() })],
    ['another shape', () => ({ output: tf.zeros([2, 6, 5, 4]) })],
    ['another rank', () => ({ output: tf.zeros([12, 5, 8]) })],
    ['another dtype', () => ({ output: tf.zeros([2, 6, 5, 8], 'int32') })],
    ['no log-sum-exp', () => ({ output: output() })],
    ['a log-sum-exp of rank 4', () => ({ output: output(), logSumExp: tf.zeros([2, 6, 5, 1]) })],
    ['a name that is none', () => ({ output: output(), logSumExp: tf.zeros([2, 6, 5]), kernel: 5 })],
  ];
  for (const [name, result] of wrong) {
    it(`which gives ${name}`, () => {
      const inputs = good();
      const run = () => attend(giving(result(), []), inputs, { returns: ['logSumExp'] });
      expect(run).toThrow(/careless/);
      expect(run).toThrow(expect.objectContaining({ name: expect.stringMatching(/^(Shape|Config)Error$/) }));
    });
  }

  for (const answer of [{}, 5, undefined, null, 'reasons', Promise.resolve([]), [5]]) {
    it(`which answers ${JSON.stringify(answer)} to what it cannot run`, () => {
      expect(() => attend(giving({ output: output() }, answer), good())).toThrow(
        /unsupported of careless must give a list of reasons/,
      );
    });
  }

  it('and gives only what was asked for', () => {
    const result = { output: output(), logSumExp: tf.zeros([2, 6, 5]), weights: tf.zeros([2, 6, 5, 7]) };
    expect(Object.keys(attend(giving(result, []), good(), { returns: ['weights'] })).sort()).toEqual([
      'kernel',
      'output',
      'weights',
    ]);
  });

  it('once, also behind a choice', () => {
    const calls = { one: 0, two: 0 };
    const counting = (name: 'one' | 'two', reasons: string[]): AttentionKernel => ({
      ...composed(),
      name,
      unsupported() {
        calls[name]++;
        return reasons;
      },
    });
    attend(firstSupported([counting('one', ['no']), counting('two', [])]), good());
    expect(calls).toEqual({ one: 1, two: 1 });
  });

  it('for tensors of its own and a state, which it must name', () => {
    const decay = tf.ones([6]);
    const options = { tensors: { decay } };
    expect(() => attend(composed(), good(), options)).toThrow(/no use for the tensors decay/);
    expect(() => attend(composed(), { ...good(), state: { sums: decay } })).toThrow(/no state of earlier/);
    expect(() => attend(composed(), good(), { returns: ['state'] })).toThrow(/it has no state to return/);
    expect(() => attend(composed(), good(), { tensors: { decay: 5 as never } })).toThrow(
      /tensors.decay must be a float32 tensor/,
    );
  });

  it('that takes tensors of its own, with a gradient', () => {
    const kernel: AttentionKernel = {
      name: 'scaled output',
      takes: ['factor'],
      unsupported: () => [],
      run: (call) =>
        withGradient(call, {
          forward: (_call, { query, 'tensors/factor': factor }) => ({
            result: { output: tf.mul(query, factor!) as tf.Tensor4D },
            saved: undefined,
          }),
          backward: (_call, { query, 'tensors/factor': factor }, { gradient }) => ({
            query: tf.mul(gradient.output, factor!),
            'tensors/factor': tf.sum(tf.mul(gradient.output, query)),
          }),
        }),
    };
    const query = tf.tensor4d([1, 2, 3], [1, 1, 3, 1]);
    const loss = (factor: tf.Tensor) =>
      tf.sum(
        attend(kernel, { query, key: query, value: query }, { tensors: { factor } }).output,
      ) as tf.Scalar;
    expect(tf.grad(loss)(tf.scalar(2)).dataSync()[0]).toBe(6);
  });
});
