import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { comparedKernels } from './kernels';

it('compares composed with the kernel that is made for the backend, where there is one', () => {
  const before = tf.memory().numTensors;
  const names = comparedKernels().map(({ name }) => name);
  expect(tf.memory().numTensors).toBe(before);
  expect(names).toHaveLength(tf.getBackend() === 'tensorflow' ? 1 : 2);
  expect(names[1]).toBe(tf.getBackend() === 'tensorflow' ? undefined : 'composed');
});
