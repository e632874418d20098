// Steps on the host are those of tfjs, in any order.
import type { WeightStep } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applySteps, shapeAfter } from './weight-steps';

type Shape = readonly number[];

/** A step that is possible on a shape, chosen by three numbers. */
function stepOn(shape: Shape, [kind, one, two]: readonly [number, number, number]): WeightStep {
  const size = shape.reduce((product, n) => product * n, 1);
  const divisors = Array.from({ length: size }, (_, n) => n + 1).filter((n) => size % n === 0);
  const axis = one % Math.max(1, shape.length);
  const start = two % (shape[axis] ?? 1);
  const steps: readonly WeightStep[] = [
    { reshape: size === 0 ? [0, 3] : [divisors[one % divisors.length]!, -1] },
    { reshape: size === 0 ? [2, 0] : [divisors[two % divisors.length]!, 1, -1] },
    { transpose: [...shape.keys()].sort((a, b) => ((a + one) % shape.length) - ((b + one) % shape.length)) },
    { transpose: [...shape.keys()].reverse() },
    { slice: { axis, start, size: 1 + (two % ((shape[axis] ?? 1) - start)) } },
    { affine: { scale: 1 + (one % 3), offset: (two % 5) - 2 } },
  ];
  const step = steps[kind]!;
  return 'slice' in step && (shape[axis] ?? 0) === 0 ? { affine: {} } : step;
}

function tfjsStep(step: WeightStep, x: tf.Tensor): tf.Tensor {
  if ('reshape' in step) return tf.reshape(x, [...step.reshape]);
  if ('transpose' in step) return tf.transpose(x, [...step.transpose]);
  if ('affine' in step) return tf.add(tf.mul(x, step.affine.scale ?? 1), step.affine.offset ?? 0);
  const { axis, start, size } = step.slice;
  return tf.slice(
    x,
    x.shape.map((_, n) => (n === axis ? start : 0)),
    x.shape.map((length, n) => (n === axis ? size : length)),
  );
}

const choices = fc.array(fc.tuple(fc.nat(5), fc.nat(23), fc.nat(23)), { maxLength: 6 });

describe('steps of a weight table', () => {
  it('give what reshape, transpose, slice, mul and add of tfjs give', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { maxLength: 4 }), choices, (shape, chosen) => {
        const numbers = Float32Array.from({ length: shape.reduce((size, n) => size * n, 1) }, (_, n) => n);
        let x = tf.tensor(numbers, shape);
        const steps = chosen.map((choice) => {
          const step = stepOn(x.shape, choice);
          x = tfjsStep(step, x);
          return step;
        });
        expect(shapeAfter(steps, shape)).toEqual(x.shape);
        expect(applySteps(steps, numbers, shape)).toEqual(x.dataSync());
      }),
      { seed: 14, numRuns: 300 },
    );
  });

  it('leave the numbers of the file as they are', () => {
    const numbers = Float32Array.of(1, 2, 3, 4);
    expect(applySteps([], numbers, [2, 2])).toBe(numbers);
    applySteps([{ transpose: [1, 0] }, { affine: { scale: 2 } }], numbers, [2, 2]);
    expect([...numbers]).toEqual([1, 2, 3, 4]);
  });
});
