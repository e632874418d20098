import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { measureCosts } from './costs';

// On every backend, those of a page included: numbers are checked against doubles before they are timed.
it('times a layer that is right, and leaves nothing', async () => {
  const { numTensors } = tf.memory();
  const costs = await measureCosts({ tokens: 5, runs: 1 });
  expect(costs.kernel).toMatch(/^(composed|flash)/);
  expect(costs.error).toBeLessThan(1e-5);
  for (const time of [costs.first, costs.prefill, costs.decode, costs.training]) {
    expect(time).toBeGreaterThan(0);
  }
  expect(tf.memory().numTensors).toBe(numTensors);
});
