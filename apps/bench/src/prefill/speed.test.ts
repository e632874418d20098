import { causal } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import type { BackendName } from '../backends/backend-name';
import { timePrefill } from './speed';

const small = {
  layer: 'small',
  length: 19,
  mask: causal(),
  create: () => new MultiHeadAttention({ embedDim: 12, numHeads: 3, seed: 1 }),
};
const backend = () => tf.getBackend() as BackendName;

it('times a right layer and leaves nothing behind', async () => {
  const before = tf.memory().numTensors;
  const rounds: number[] = [];
  const [timing] = await timePrefill([small], [backend()], (done) => rounds.push(done));
  expect(timing).toMatchObject({ layer: 'small', length: 19, backend: backend() });
  expect(timing!.samples).toBe(rounds.length);
  expect(timing!.p10).toBeGreaterThan(0);
  expect(timing!.p10).toBeLessThanOrEqual(timing!.median);
  expect(timing!.median).toBeLessThanOrEqual(timing!.p90);
  expect(timing!.error).toBeLessThan(1e-5);
  expect(tf.memory().numTensors).toBe(before);
});

it('refuses to time a wrong answer', async () => {
  const before = tf.memory().numTensors;
  const blind = { ...small, create: () => new Forgetful({ embedDim: 12, numHeads: 3, seed: 1 }) };
  await expect(timePrefill([small, blind], [backend()])).rejects.toThrow('a wrong answer is not timed');
  expect(tf.memory().numTensors).toBe(before);
});

/** Drops the mask without saying so. */
class Forgetful extends MultiHeadAttention {
  override apply(inputs: Parameters<MultiHeadAttention['apply']>[0]) {
    return super.apply(inputs) as never;
  }
}
