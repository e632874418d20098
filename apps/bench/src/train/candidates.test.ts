import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import {
  candidateNames,
  chooseCandidates,
  createDecoder,
  nameOf,
  reference,
  sizesOf,
  type TrainedDecoder,
} from './candidates';

it('compares variants that fit with rotary, and position methods with grouped heads', () => {
  expect(chooseCandidates().map(nameOf)).toEqual([
    'multi-head, rotary',
    'grouped-4, rotary',
    'grouped-2, rotary',
    'multi-query, rotary',
    'grouped-4, none',
    'grouped-4, learned',
    'grouped-4, alibi',
    'grouped-4, t5',
    'grouped-4, shaw',
  ]);
  expect(chooseCandidates(['deberta', 'multi-query']).map(nameOf)).toEqual([
    'multi-head, rotary',
    'multi-query, rotary',
    'grouped-4, deberta',
  ]);
  expect(chooseCandidates(candidateNames)).toHaveLength(candidateNames.length - 1); // grouped-4 with rotary has two names
});

it.each(chooseCandidates().map((one) => [nameOf(one), one] as const))(
  'makes %s: the same for a seed, every weight its own, and nothing left behind',
  (_, candidate) => {
    const before = tf.memory().numTensors;
    const [one, same, other] = [3, 3, 4].map((seed) => createDecoder(candidate, { seed, longest: 16 }));
    const starts = (decoder: TrainedDecoder | undefined) =>
      decoder!.model.variables.map(({ name, variable }) => `${name}: ${variable.dataSync().slice(0, 8)}`);
    expect(starts(same)).toEqual(starts(one));
    // Gains start as ones; all that is drawn differs between seeds, and from other variables.
    const drawn = starts(one).filter((text) => !text.endsWith('1,1,1,1'));
    for (const text of drawn) expect(starts(other)).not.toContain(text);
    expect(new Set(drawn.map((text) => text.split(': ')[1])).size).toBe(drawn.length);
    const { parameters } = sizesOf(candidate, one!.model);
    expect(parameters).toBeGreaterThan(600_000);
    expect(parameters).toBeLessThan(800_000);
    for (const { dispose } of [one!, same!, other!]) dispose();
    expect(tf.memory().numTensors).toBe(before);
  },
);

it('counts what is learned, and what a cache keeps', () => {
  const sizes = (variant: string) => {
    const { model, dispose } = createDecoder({ ...reference, variant }, { seed: 1, longest: 16 });
    const { keyValueHeads, parameters, cacheBytesPerToken } = sizesOf({ ...reference, variant }, model);
    dispose();
    return [keyValueHeads, parameters, cacheBytesPerToken];
  };
  const besides = 256 * 128 + 4 * (3 * 128 * 320 + 2 * 128) + 128; // embedding, feed-forward layers and norms
  const projections = (numKeyValueHeads: number) => 4 * (2 * 128 * 128 + 2 * 128 * 16 * numKeyValueHeads);
  const bytes = (numKeyValueHeads: number) => 4 * numKeyValueHeads * 2 * 16 * 4; // layers, heads, keys and values, numbers
  for (const [variant, heads] of [
    ['multi-head', 8],
    ['grouped-2', 2],
    ['multi-query', 1],
  ] as const)
    expect(sizes(variant)).toEqual([heads, besides + projections(heads), bytes(heads)]);
});
