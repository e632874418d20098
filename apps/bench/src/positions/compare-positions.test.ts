import { expect, it } from 'vitest';
import { measurePositions } from './compare-positions';
import { methods } from './methods';
import { positionLines } from './report';

const run = { shape: { embedDim: 16, numHeads: 2, longest: 24 }, prefill: [24], samples: 2 };
const progress = { stage: () => {}, advance: () => {}, clear: () => {} };
const named = (name: string) => methods.find((method) => method.name === name)!;

it('puts times and memory of each method together, none first', async () => {
  const positions = await measurePositions([named('shaw'), named('alibi')], run, { progress });
  expect(positions.map(({ name, parameters }) => [name, parameters])).toEqual([
    ['none', 0],
    ['shaw', 2 * 257 * 8],
    ['alibi', 0],
  ]);
  for (const { work, peakBytes } of positions) {
    expect(work.map(({ phase }) => phase)).toEqual(['prefill', 'decode']);
    expect(peakBytes).toBeGreaterThan(0);
  }
});

it('shows an entry of its own with its note', async () => {
  const another = { ...named('t5'), name: 'another', note: 'of nobody' };
  const lines = positionLines(run.shape, await measurePositions([another], run, { progress }), 200);
  expect(lines.filter((line) => line.startsWith('another'))).toEqual([
    expect.stringMatching(/^another +64 +256 bytes( +[\d.]+ \([\d.]+ ×\)){2} /),
    'another: of nobody',
  ]);
});
