import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { caches } from './caches';
import { type ComparisonCases, comparisonCases } from './cases';
import { compareVariants } from './comparison';
import { comparedKernels } from './kernels';
import { comparisonLines } from './report';
import { shapes } from './shapes';
import { variants } from './variants';

const config = { embedDim: 24, numHeads: 12, useBias: true };
const shape = { ...shapes[0]!, config, prefillBatches: [1] };
const named = (name: string) => variants.find((variant) => variant.name === name)!;

it('measures each variant with each cache and size, and leaves nothing behind', async () => {
  const cases: ComparisonCases = {
    shape,
    variants: [named('multi-head'), named('grouped-4')],
    leftOut: [],
    caches,
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
  const others = comparedKernels().length - 1; // decoding with multi-head once more, in the last cache
  expect(timings).toHaveLength(1 * 2 * 3 + 4 * (2 * 3 + others));
  const plain = timings.filter(({ kernel }) => kernel !== timings[0]!.kernel);
  expect(plain.map(({ phase, variant, cache }) => `${phase} ${variant} ${cache}`)).toEqual(
    Array(4 * others).fill('decode multi-head static'),
  );
  const bytes = (variant: string) =>
    timings
      .filter((t) => t.variant === variant && t.kernel === timings[0]!.kernel)
      .map((t) => t.bytes.allocated);
  expect(bytes('multi-head')).toEqual(bytes('grouped-4').map((fewer) => 3 * fewer));
});

it('shows an entry that is added to a registry in each table', async () => {
  const circumstances = {
    backend: 'wasm',
    quick: true,
    registries: {
      shapes: [shape],
      variants: [...variants, { ...named('grouped-4'), name: 'another' }],
      caches: [...caches, { ...caches[0]!, name: 'of its own', writes: () => 'as it likes' }],
    },
  } as const;
  const [cases] = comparisonCases({ tokens: [32], batch: [1] }, circumstances);
  const progress = { stage: () => {}, advance: () => {}, clear: () => {} };
  const timings = await compareVariants([cases!], progress);
  const lines = comparisonLines(cases!, timings, 200);
  const byDefault = caches.filter(({ isOptional }) => !isOptional);
  const rows = lines.filter((line) => line.startsWith('another '));
  expect(rows).toEqual([
    expect.stringMatching(/^another +4 +64 bytes/), // bytes
    expect.stringMatching(/^another( +[\d.,]+ \([\d.]+ ×\)){3}$/), // prefill, with each cache
    ...byDefault.map(({ name }) => expect.stringMatching(`^another +${name} `)), // decoding
    expect.stringMatching(/^another +of its own /),
  ]);
  expect(lines).toContain('of its own: as it likes');
});
