import { numbersOf } from '@polyhead/conformance';
import { type AttentionKernel, attend, composed, type KernelCall } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { withMemory } from './memory-key-values';

const heads = (S: number, seed: number) => tf.randomNormal<tf.Rank.R4>([2, 3, S, 4], 0, 1, 'float32', seed);
const memoryOf = (M: number) => ({
  key: tf.ones<tf.Rank.R4>([1, 3, M, 4]),
  value: tf.ones<tf.Rank.R4>([1, 3, M, 4]),
});

function recording() {
  const kernel = composed();
  const events: string[] = [];
  const calls: { [event: string]: KernelCall } = {};
  const inner: AttentionKernel = {
    name: 'inner',
    prepare: async () => void events.push('prepare'),
    dispose: () => void events.push('dispose'),
    unsupported(call) {
      calls.unsupported = call;
      return call.sizes.Skv > 6 ? ['too many keys'] : [];
    },
    worthwhile(call) {
      calls.worthwhile = call;
      return false;
    },
    notes(call) {
      calls.notes = call;
      return ['a note'];
    },
    run(call) {
      calls.run = call;
      return kernel.run(call);
    },
  };
  return { inner, events, calls };
}

describe('a kernel with memory keys and values', () => {
  it('is prepared and disposed as the kernel inside', async () => {
    const { inner, events } = recording();
    const kernel = withMemory(inner, memoryOf(2));
    await kernel.prepare?.();
    kernel.dispose?.();
    expect(events).toEqual(['prepare', 'dispose']);
  });

  it('asks the kernel inside about the very call that it runs', () => {
    const { inner, calls } = recording();
    const query = heads(3, 1);
    const [key, value] = [heads(4, 2), heads(4, 3)];
    const output = tf.tidy(() => attend(withMemory(inner, memoryOf(2)), { query, key, value }).output);
    const appended = (rows: tf.Tensor4D, own: tf.Tensor4D) =>
      tf.concat([rows, tf.tile(own, [2, 1, 1, 1])], 2) as tf.Tensor4D;
    const expected = attend(composed(), {
      query,
      key: appended(key, memoryOf(2).key),
      value: appended(value, memoryOf(2).value),
    });
    expect(numbersOf(output)).toEqual(numbersOf(expected.output).map((x) => expect.closeTo(x, 5)));
    expect(calls.unsupported!.sizes.Skv).toBe(6);
    expect(calls.run).toBe(calls.unsupported);
  });

  it('is refused where the kernel inside refuses the longer call', () => {
    const { inner } = recording();
    const [query, key] = [heads(3, 1), heads(5, 2)];
    expect(() =>
      tf.tidy(() => attend(withMemory(inner, memoryOf(2)), { query, key, value: key }).output),
    ).toThrow(/too many keys/);
  });

  it('is the kernel itself where there is no memory', () => {
    const { inner } = recording();
    expect(withMemory(inner, memoryOf(0))).toBe(inner);
  });
});
