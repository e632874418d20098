// Case A21: a graphics card whose floats are halves, which stop at 65504.
import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { attend, composed } from '../../packages/core/src/index';

it('the page has such floats', async () => {
  const [stored] = await tf.add(tf.tensor1d([0.1]), 0).data();
  expect(Math.abs(stored! - 0.1)).toBeGreaterThan(1e-6);
});

it('attention is refused there, and a backend named that has more', () => {
  const ones = tf.ones<tf.Rank.R4>([1, 1, 2, 2]);
  expect(() => attend(composed(), { query: ones, key: ones, value: ones })).toThrow(
    /composed cannot run this call on backend "webgl"[\s\S]*16 bits[\s\S]*"wasm"/,
  );
});
