import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { type PositionShape, positions } from '../axes/positions';
import { measureMemory, naiveBytes } from './memory';

const named = (name: string) => positions.find((method) => method.name === name);

const small: PositionShape = { embedDim: 16, numHeads: 2, longest: 24 };

// Head size 8. Bytes are 4 a number.
it.each([
  ['none', 0, 0],
  ['rotary', 0, 24 * 8 * 4], // a cosine and a sine for each of 4 pairs
  ['alibi', 0, 2 * 47 * 4],
  ['t5', 32 * 2, 2 * 32 * 4],
  ['shaw', 2 * 257 * 8, 2 * 257 * 8 * 4],
  ['bertRelative', 47 * 8, 2 * 47 * 8 * 4], // looked up twice
  ['transformerXL', 2 * 2 * 8 + 16 * 16, 2 * 33 * 8 * 4], // distances -32 to 0: a power of two behind
  ['deberta', 512 * 16 + 2 * (16 * 16 + 16), 2 * 2 * 512 * 8 * 4],
] as const)('counts what %s has, and leaves nothing behind', (name, parameters, tableBytes) => {
  const before = tf.memory().numTensors;
  expect(measureMemory(named(name), small)).toMatchObject({ parameters, tableBytes });
  expect(tf.memory().numTensors).toBe(before);
});

it('tells what is held at once by all heads, and by one', () => {
  const [none, shaw] = [measureMemory(undefined, small), measureMemory(named('shaw'), small)];
  expect(none.headPeakBytes).toBeGreaterThan(24 * 24 * 4); // the scores of a head
  expect(none.peakBytes).toBeGreaterThan(none.headPeakBytes);
  expect(shaw.peakBytes).toBeGreaterThan(none.peakBytes);
});

// No distance of bertRelative is clipped, and both queries and keys are multiplied by all of them.
it.each(positions)('$name holds far less than a vector for each pair', { timeout: 60_000 }, (method) => {
  const shape: PositionShape = { embedDim: 64, numHeads: 1, longest: 1024 };
  expect(naiveBytes(shape)).toBe(268_435_456);
  const share = method.name === 'bertRelative' ? 1 / 6 : 1 / 10;
  expect(measureMemory(method, shape).headPeakBytes).toBeLessThan(share * naiveBytes(shape));
});
