import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { createPositioned, methods, type PositionShape } from '../positions/methods';
import { checkedError, checkPositioned } from './position-check';

const shape: PositionShape = { embedDim: 16, numHeads: 2, longest: 24 };

it.each([undefined, ...methods])('finds $name right, and leaves nothing behind', (compared) => {
  const before = tf.memory().numTensors;
  const layer = createPositioned(compared, shape);
  expect(checkPositioned(layer)).toBeLessThan(1e-5);
  layer.dispose();
  expect(tf.memory().numTensors).toBe(before);
});

it.each(methods)('finds a layer without positions wrong where $name is wanted', (compared) => {
  const [none, other] = [createPositioned(undefined, shape), createPositioned(compared, shape)];
  const { name, method } = other;
  // The variables of the method stay, so that its definition finds them.
  const ownVariables = other.attention.variables;
  const attention = new Proxy(none.attention, {
    get: (target, key) => (key === 'variables' ? ownVariables : Reflect.get(target, key, target)),
  });
  expect(() => checkPositioned({ ...none, attention, name, method: method! })).toThrow(
    `${name}, 8 tokens against doubles: the output is off by`,
  );
  none.dispose();
  other.dispose();
});

it('takes what float32 explains, and no more', () => {
  expect(checkedError('one', [1, 2], [1, 2])).toBe(0);
  expect(() => checkedError('one', [1, 2.1], [1, 2])).toThrow('one: the output is off by 5.0e-2');
  expect(() => checkedError('one', [1, Number.NaN], [1, 2])).toThrow('a wrong answer is not timed');
});
