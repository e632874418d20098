import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { type Gate, gateRow } from './gates';

const gate = (holds: Gate['holds']): Gate => ({
  work: 'nothing',
  against: 'as little',
  bound: 'at least 1 ×',
  holds,
  runs: 3,
  make: () => ({
    ours: () => tf.scalar(1),
    peer: () => tf.scalar(2),
    ratio: (ours, peer) => (peer > 0 && ours > 0 ? 1.5 : 0),
  }),
});

it('measures both sides and says whether the bound holds', () => {
  const before = tf.memory().numTensors;
  const [work, mine, against, theirs, ratio, bound, verdict] = gateRow(gate((value) => value >= 1));
  expect([work, against, ratio, bound, verdict]).toEqual([
    'nothing',
    'as little',
    '1.50',
    'at least 1 ×',
    'holds',
  ]);
  for (const milliseconds of [mine, theirs]) expect(Number(milliseconds)).toBeGreaterThanOrEqual(0);
  expect(gateRow(gate((value) => value >= 2)).at(-1)).toBe('missed');
  expect(tf.memory().numTensors).toBe(before);
});
