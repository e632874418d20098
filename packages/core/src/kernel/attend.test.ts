import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { composed } from '../composed/composed';
import { UnsupportedError } from '../contract/errors';
import type { AttentionInputs, KernelCall } from '../contract/kernel';
import { causal } from '../masks/causal';
import { dense } from '../masks/dense';
import { attend } from './attend';

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
      gradientDepth: 0,
    });
    expect(seen!.plan.pairs).toBe(2 * 6 * (3 + 4 + 5 + 6 + 7));
    const loss = (q: tf.Tensor) =>
      tf.sum(attend(kernel, { ...good(), query: q as tf.Tensor4D }).output) as tf.Scalar;
    tf.grad(loss)(heads(2, 6, 5, 4));
    expect(seen!.gradientDepth).toBe(1);
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
