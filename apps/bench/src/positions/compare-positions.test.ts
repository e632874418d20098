import { expect, it } from 'vitest';
import { measurePositions } from './compare-positions';

it('puts times and memory of each method together, none first', async () => {
  const run = { shape: { embedDim: 16, numHeads: 2, longest: 24 }, prefill: [24], samples: 2 };
  const progress = { stage: () => {}, advance: () => {}, clear: () => {} };
  const found = await measurePositions(['shaw', 'alibi'], run, { progress });
  expect(found.map(({ name, parameters }) => [name, parameters])).toEqual([
    ['none', 0],
    ['shaw', 2 * 257 * 8],
    ['alibi', 0],
  ]);
  for (const { work, peakBytes } of found) {
    expect(work.map(({ phase }) => phase)).toEqual(['prefill', 'decode']);
    expect(peakBytes).toBeGreaterThan(0);
  }
});
