import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { registries } from '../axes/registries';
import { comparisonCases } from './cases';
import { compareVariants } from './comparison';
import { comparisonLines } from './report';
import { whatItBrings } from './what-it-brings';

const { layers, variants, caches } = registries;
const small = { ...layers[0]!, config: { embedDim: 24, numHeads: 12, useBias: true }, samples: 2 };
const grouped = variants.find(({ name }) => name === 'grouped-4')!;
const progress = { stage: () => {}, advance: () => {}, clear: () => {} };

it('shows an entry that is added to a registry in each table, and leaves nothing behind', async () => {
  const extended = {
    ...registries,
    layers: [small],
    variants: [variants[0]!, grouped, { ...grouped, name: 'another' }],
    caches: [...caches, { ...caches[0]!, name: 'of its own', writes: () => 'as it likes' }],
  };
  const choice = { tokens: [40], batch: [1, 2] };
  const circumstances = { backend: 'wasm', quick: false, registries: extended } as const;
  const [cases] = comparisonCases(choice, circumstances);
  const before = tf.memory();
  const stages: string[] = [];
  const measured = await compareVariants([{ ...cases!, prefill: 16 }], 'wasm', {
    registries: extended,
    progress: { ...progress, stage: (text) => stages.push(text) },
  });
  const after = tf.memory();
  expect([after.numTensors, after.numDataBuffers]).toEqual([before.numTensors, before.numDataBuffers]);
  expect(measured.absent).toEqual([]);
  expect(stages).toEqual([
    'comparing variants of the GPT-2-like layer: a prompt of 16 tokens',
    'comparing variants of the GPT-2-like layer: decoding to 40 tokens, batch 1',
    'comparing variants of the GPT-2-like layer: decoding to 40 tokens, batch 2',
  ]);
  const lines = comparisonLines(cases!, measured, 200);
  const byDefault = caches.filter(({ isOptional }) => !isOptional);
  expect(lines.filter((line) => line.startsWith('another '))).toEqual([
    expect.stringMatching(/^another +4 +64 bytes/), // bytes
    expect.stringMatching(/^another( +\S+){2} × /), // prefill
    ...byDefault.map(({ name }) => expect.stringMatching(`^another +${name} `)), // decoding
    expect.stringMatching(/^another +of its own /),
  ]);
  expect(lines).toContain('of its own: as it likes');
  const bytes = (variant: string) =>
    measured.cells
      .filter((cell) => cell.variant === variant && cell.kernel === 'best' && cell.tokens === 40)
      .map(({ cacheBytes }) => cacheBytes!.allocated);
  expect(bytes('multi-head')).toEqual(bytes('grouped-4').map((fewer) => 3 * fewer));
  expect(whatItBrings(cases!, measured.cells)).toMatchObject({ kernel: {}, heads: {}, storage: {} });
});
