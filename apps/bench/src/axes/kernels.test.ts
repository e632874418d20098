import { attend, causal } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { kernels, startKernel } from './kernels';

describe.each(kernels)('$name', (kind) => {
  it('starts and computes where it is made for, and leaves nothing behind', async () => {
    const before = tf.memory().numTensors;
    const started = await startKernel(kind);
    if (kind.backends && !kind.backends.includes(tf.getBackend() as 'wasm')) {
      expect(started.reason).toContain('is made for');
      return;
    }
    const head = tf.ones<tf.Rank.R4>([1, 1, 3, 4]);
    const result = attend(started.kernel!, { query: head, key: head, value: head }, { mask: causal() });
    for (const number of result.output.dataSync()) expect(number).toBeCloseTo(1, 6);
    tf.dispose([head, result.output]);
    started.kernel?.dispose?.();
    expect(tf.memory().numTensors).toBe(before);
  });
});

it('is told with its reason where it does not start, or is not what its name says', async () => {
  const [best] = kernels;
  const broken = {
    name: 'broken',
    create: () => ({ ...best!.create(), prepare: () => Promise.reject(new Error('no')) }),
  };
  expect(await startKernel(broken)).toEqual({ reason: 'broken does not start: no' });
  expect(await startKernel({ ...best!, name: 'other', says: /quantum/ })).toEqual({
    reason: 'this engine does not have what other needs',
  });
  expect(await startKernel({ ...best!, name: 'other', backends: ['cpu'] })).toHaveProperty('reason');
});
