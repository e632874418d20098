import * as tf from '@tensorflow/tfjs-core';
import { expect, it, vi } from 'vitest';
import * as registry from './methods';
import { timePositions } from './speed';

const { methods } = registry;
const [rotary] = methods;
const shape = { embedDim: 16, numHeads: 2, longest: 24 };
const run = { shape, prefill: [8, 24], samples: 3 };

it('times prefill and a step of decoding, checked, and leaves nothing behind', async () => {
  const before = tf.memory().numTensors;
  const onRun = vi.fn();
  const timings = await timePositions(methods, run, onRun);
  expect(tf.memory().numTensors).toBe(before);
  expect(timings.map(({ name }) => name)).toEqual(['none', ...methods.map(({ name }) => name)]);
  expect(onRun.mock.calls.map(([done, total]) => `${done}/${total}`)).toEqual(
    Array.from({ length: 12 }, (_, n) => `${n}/12`),
  );
  for (const { work, error, stepError } of timings) {
    expect(work.map(({ phase, tokens, samples }) => [phase, tokens, samples])).toEqual([
      ['prefill', 8, 3],
      ['prefill', 24, 3],
      ['decode', 24, 3],
    ]);
    work.forEach(({ median, timesNone }, n) => {
      expect(timesNone).toBeCloseTo(median / timings[0]!.work[n]!.median, 8);
    });
    expect(Math.max(error, stepError)).toBeLessThan(1e-5);
  }
});

it('refuses to time steps that differ from one pass', async () => {
  const create = registry.createPositioned;
  const spy = vi.spyOn(registry, 'createPositioned').mockImplementation((method, of) => {
    const layer = create(method, of);
    const { position } = layer.method ?? {};
    // Positions of every call start anew: no harm to one pass, but to steps.
    const rotate = position?.rotate;
    if (position && rotate) position.rotate = (heads, role) => rotate(heads, role, [{ start: [0] }]);
    return layer;
  });
  const before = tf.memory().numTensors;
  await expect(timePositions([rotary!], run)).rejects.toThrow(
    'rotary, a step at 24 tokens against one pass: the output is off by',
  );
  expect(tf.memory().numTensors).toBe(before);
  spy.mockRestore();
});
