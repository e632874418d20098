import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { mobyDickBytes, randomWindows } from './byte-text';
import { createDecoder, reference } from './candidates';
import { trainer } from './fit';
import { trainAll } from './schedule';
import { fastestKernel, poolInto, stepsOf, type Trained, trainOne } from './train-one';

const settings = {
  steps: 8,
  batch: 2,
  length: 16,
  heldOutBatches: 2,
  stepsAPoint: 3,
  uptrainingSteps: 2,
};
const task = { variant: 'grouped-2', position: 't5', seed: 1, settings };

it('trains to the last digit alike from a seed, again and in another process', async () => {
  const { run } = await trainOne(task);
  expect(run.curve).toHaveLength(3);
  expect(run.curve[2]).toBeLessThan(run.curve[0]! - 0.5); // 8 bits a byte are chance
  expect((await trainOne(task)).run).toEqual(run);
  const trained: Trained[] = [];
  const seen: number[] = [];
  // Two processes begin at once. This one may differ from them: other tests switch relaxed SIMD on in it.
  await trainAll([task, task, { ...task, seed: 2 }], 2, {
    onTrained: (one) => trained.push(one),
    onSteps: (done, total) => seen.push(done / total),
  });
  const [one, again] = trained.filter(({ run: { seed } }) => seed === 1);
  expect(one!.run).toEqual(again!.run);
  expect(trained.find(({ run: { seed } }) => seed === 2)!.run.curve).not.toEqual(one!.run.curve);
  expect(seen.at(-1)).toBe(1);
});

it('pools the reference after training, and trains on', async () => {
  const before = tf.memory().numTensors;
  const job = { ...reference, seed: 1, settings };
  let steps = 0;
  const { run, uptraining } = await trainOne(job, (done) => {
    steps = done;
  });
  expect(steps).toBe(stepsOf(job));
  expect(uptraining.map(({ variant, keyValueHeads }) => [variant, keyValueHeads])).toEqual([
    ['grouped-4', 4],
    ['grouped-2', 2],
    ['multi-query', 1],
  ]);
  for (const one of uptraining) {
    expect(one.before).toBe(run.heldOut);
    expect(one.pooled).not.toBe(one.before);
    expect(one.trainedOn).not.toBe(one.pooled);
    expect(one.referenceTrainedOn).toBe(uptraining[0]!.referenceTrainedOn);
  }
  expect(tf.memory().numTensors).toBe(before);
});

it('pools heads that are equal in their groups without a change', async () => {
  const source = createDecoder(reference, { seed: 1, longest: 16 });
  const pooled = createDecoder({ ...reference, variant: 'grouped-2' }, { seed: 2, longest: 16 });
  for (const { name, variable } of source.model.variables) {
    if (!/attention\/(key|value)\/kernel/.test(name)) continue;
    const groups = tf.reshape(variable, [128, 2, 4, 16]);
    const first = tf.slice(groups, [0, 0, 0, 0], [128, 2, 1, 16]);
    variable.assign(tf.reshape(tf.tile(first, [1, 1, 4, 1]), variable.shape));
  }
  poolInto(pooled.model, source.model, 2);
  const ids = tf.tensor2d([[67, 97, 108, 108, 32, 109, 101]], undefined, 'int32');
  const [expected, got] = [source, pooled].map(({ model }) => model.apply(ids).logits.dataSync());
  const largest = Math.max(...expected!.map(Math.abs));
  for (const [n, logit] of expected!.entries())
    expect(Math.abs(got![n]! - logit)).toBeLessThan(1e-5 * largest);
  source.dispose();
  pooled.dispose();
});

it('leaves memory flat, step after step', async () => {
  const steps = process.env.POLYHEAD_LONG ? 2000 : 15;
  const { model, dispose } = createDecoder(reference, { seed: 1, longest: 32 });
  const { step, dispose: end } = trainer(model, await fastestKernel());
  const next = randomWindows(mobyDickBytes().training, { batch: 2, length: 32 }, 1);
  const used = () => {
    const { numTensors, numBytes, numDataBuffers } = tf.memory();
    const { wasm } = tf.backend() as { wasm?: { HEAPU8: Uint8Array } };
    return { numTensors, numBytes, numDataBuffers, heap: wasm?.HEAPU8.length };
  };
  for (let n = 0; n < 5; n++) await step(next(), 1e-3);
  const after5 = used();
  for (let n = 5; n < steps; n++) await step(next(), 1e-3);
  expect(used()).toEqual(after5);
  end();
  dispose();
}, 600_000);
