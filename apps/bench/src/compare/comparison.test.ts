import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import type { ComparisonCases } from './cases';
import { compareVariants } from './comparison';
import { comparisonShapes } from './shapes';

it('measures each variant with each cache and size, and leaves nothing behind', async () => {
  const cases: ComparisonCases = {
    shape: {
      ...comparisonShapes['gpt-2'],
      config: { embedDim: 24, numHeads: 12, useBias: true },
      prefillBatches: [1],
    },
    variants: ['multi-head', 'grouped-4'],
    leftOut: [],
    caches: ['growing', 'static'],
    tokens: [32, 40],
    batches: [1, 2],
    samples: 2,
  };
  const before = tf.memory();
  const stages: string[] = [];
  const progress = { stage: (text: string) => stages.push(text), advance: () => {}, clear: () => {} };
  const timings = await compareVariants([cases], progress);
  const after = tf.memory();
  expect([after.numTensors, after.numDataBuffers]).toEqual([before.numTensors, before.numDataBuffers]);
  expect(stages.at(-1)).toBe('comparing variants of the GPT-2-like layer: decoding to 40 tokens, batch 2');
  const runs = new Set(timings.map(({ phase, batch, tokens }) => `${phase} ${batch} ${tokens}`));
  expect([...runs]).toEqual(['prefill 1 32', 'decode 1 32', 'decode 1 40', 'decode 2 32', 'decode 2 40']);
  expect(timings).toHaveLength(5 * 2 * 2);
  const bytes = (variant: string) =>
    timings.filter((t) => t.variant === variant).map((t) => t.bytes.allocated);
  expect(bytes('multi-head')).toEqual(bytes('grouped-4').map((fewer) => 3 * fewer));
});
