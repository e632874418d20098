import { seededRandom, useOpaqueBackend } from '@polyhead/conformance';
import { attend, causal, composed, firstSupported, fromConfig } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { flashCpu } from './cpu';
import { isWasm } from './fixtures/fused-kernel';
import { flash, rowEntropy, withStatistics } from './index';

function inputs() {
  const random = seededRandom(1);
  const heads = (S: number) =>
    tf.tensor4d(Array.from({ length: 2 * S * 4 }, random), [1, 2, S, 4]) as tf.Tensor4D;
  return { query: heads(3), key: heads(5), value: heads(5) };
}

const isCpu = process.env.POLYHEAD_BACKEND === 'cpu';
const choice = () => firstSupported([flash(), composed()]);

describe('flash', () => {
  it('runs the kernel of the backend and names it', () => {
    expect(attend(flash(), inputs()).kernel).toBe(isWasm ? 'flashWasm' : 'flashCpu');
  });

  it('is chosen where a kernel is made for the backend', () => {
    const [first, ...others] = choice().explain(inputs());
    expect(first!.reasons.join()).toMatch(isCpu || isWasm ? /^$/ : /the next candidate is faster/);
    expect(others.map(({ kernel }) => kernel)).toEqual(isCpu || isWasm ? [] : ['composed']);
    expect(attend(choice(), inputs()).kernel).toMatch(isCpu || isWasm ? /^flash/ : /^composed$/);
  });

  it('K12: leaves to the next candidate what it refuses, and says why', () => {
    const options = { returns: ['weights'] as const, mask: causal() };
    const { kernel, weights } = attend(choice(), inputs(), options);
    expect([kernel, weights?.shape]).toEqual(['composed', [1, 2, 3, 5]]);
    const [first] = choice().explain(inputs(), options);
    expect(first!.reasons.join()).toMatch(/weights are an array of Sq x Skv/);
    expect(() => attend(flash(), inputs(), options)).toThrow(/weights are an array of Sq x Skv/);
  });

  it('in plain JavaScript says on other backends than cpu that tensors are copied, and steps aside', () => {
    const [first, second] = firstSupported([flashCpu(), composed()]).explain(inputs());
    expect(first!.reasons.join()).toMatch(isCpu ? /^$/ : /the next candidate is faster/);
    expect(second?.kernel).toBe(isCpu ? undefined : 'composed');
    const [only] = firstSupported([flashCpu()]).explain(inputs());
    expect(only!.notes).toEqual(isCpu ? [] : [`tensors of "${tf.getBackend()}" are copied at each call`]);
  });

  it('refuses a backend whose tensors cannot be read at once', async () => {
    const restore = await useOpaqueBackend();
    try {
      expect(() => attend(flash(), inputs())).toThrow(/"opaque" cannot be read without waiting for a device/);
      expect(attend(choice(), inputs()).kernel).toBe('composed');
    } finally {
      await restore();
    }
  });

  it('has JSON, from which it is made again', () => {
    const kernel = firstSupported([flash({ threads: 1 }), composed()]);
    const again = fromConfig<typeof kernel>(JSON.parse(JSON.stringify(kernel)), [
      firstSupported,
      flash,
      composed,
    ]);
    expect(again.explain(inputs())).toEqual(kernel.explain(inputs()));
    expect(flashCpu({ keysPerTile: 8 }).toJSON!()).toEqual({ kind: 'flashCpu', options: { keysPerTile: 8 } });
    const observed = withStatistics(flash(), { entropy: rowEntropy() }, () => {});
    expect(() => JSON.stringify(observed)).toThrow(/withStatistics: [\s\S]*onResults is a function/);
  });

  it('refuses stored keys and values inside a gradient', () => {
    const { query, key, value } = inputs();
    const stored = {
      ...{ heads: 2, keySize: 4, valueSize: 4, lengths: [5], parts: [] },
      ...{ order: { start: [0] }, positions: { start: [0] } },
      materialize: () => ({ key, value }),
    };
    const loss = (q: tf.Tensor) =>
      tf.sum(attend(flash(), { query: q as tf.Tensor4D, stored }).output) as tf.Scalar;
    expect(() => tf.grad(loss)(query)).toThrow(/stored keys and values have no gradient/);
  });
});
