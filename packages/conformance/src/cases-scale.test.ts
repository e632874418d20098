// Scale, softcap, sinks and the range of numbers.
import { type AttendOptions, attend, composed, dense } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { expectNumbers, numbersOf, type Scene, withScores, zeroScores } from './scene';

const weightsOf = (scene: Scene, options: AttendOptions = {}) =>
  attend(composed(), scene, { ...options, returns: ['weights'] }).weights!;
const hideLast = () => dense(tf.tensor2d([[1, 0]], [1, 2], 'bool'));

describe('scale', () => {
  // A model of width 16 with 4 heads: heads of size 4.
  const scene = (): Scene => ({
    query: tf.tensor4d([2, 0, 0, 0], [1, 1, 1, 4]),
    key: tf.tensor4d([2, 0, 0, 0, 0, 0, 0, 0], [1, 1, 2, 4]),
    value: tf.zeros([1, 1, 2, 1]),
  });

  it('C1: is 1 / sqrt of the head size by default', () => {
    expectNumbers(weightsOf(scene()), [0.8807971, 0.1192029]);
  });

  it('C2: of 1 leaves the products as they are', () => {
    expectNumbers(weightsOf(scene(), { scale: 1 }), [0.9820138, 0.0179862]);
  });

  it('C3: of 0 is a value', () => {
    expectNumbers(weightsOf(scene(), { scale: 0 }), [0.5, 0.5]);
  });
});

describe('the range of numbers', () => {
  it('C4: scores of 1000 do not overflow', () => {
    expectNumbers(weightsOf(withScores([[1000, 1000, -1000]], [1, 2, 3]), { scale: 1 }), [0.5, 0.5, 0]);
    const { logSumExp } = attend(composed(), withScores([[1000, 1000, -1000]], [1, 2, 3]), {
      scale: 1,
      returns: ['logSumExp'],
    });
    expect(numbersOf(logSumExp!)[0]).toBeCloseTo(1000 + Math.log(2), 3);
  });

  it('C6: values may be of another size', () => {
    const scene = {
      query: tf.ones([2, 3, 4, 2]),
      key: tf.ones([2, 3, 5, 2]),
      value: tf.ones([2, 3, 5, 3]),
    } as Scene;
    const { output } = attend(composed(), scene);
    expect(output.shape).toEqual([2, 3, 4, 3]);
    expectNumbers(output, Array<number>(72).fill(1));
  });
});

describe('softcap', () => {
  it('C7: caps before the mask, so that it cannot bring hidden keys back', () => {
    const scene = zeroScores(1, [1, 0]);
    expectNumbers(weightsOf(scene, { softcap: 1, mask: hideLast() }), [1, 0]);
    const bias = tf.tensor4d([0, Number.NEGATIVE_INFINITY], [1, 1, 1, 2]);
    expectNumbers(weightsOf(scene, { softcap: 1, bias }), [1, 0]);
  });

  it('caps scaled scores, and not the bias', () => {
    const bias = tf.tensor4d([0, 3], [1, 1, 1, 2]);
    const scores = [2 * Math.tanh(0.5 * 6 * 0.5), 3].map((x) => Math.exp(x));
    const sum = scores[0]! + scores[1]!;
    expectNumbers(
      weightsOf(withScores([[6, 0]], [1, 0]), { scale: 0.5, softcap: 2, bias }),
      scores.map((x) => x / sum),
    );
  });

  it.each([undefined, null, 0])('C9: of %s is no cap', (softcap) => {
    const scene = withScores([[3, -2]], [1, 0]);
    const options = softcap === undefined ? {} : { softcap: softcap as number };
    expect(numbersOf(weightsOf(scene, options))).toEqual(numbersOf(weightsOf(scene)));
  });
});

describe('sinks', () => {
  const sinks = (...logits: number[]) => tf.tensor1d(logits);

  it('C10: take their part of the weights', () => {
    const scene = zeroScores(1, [1, 1]);
    expectNumbers(weightsOf(scene, { sinkLogits: sinks(0) }), [1 / 3, 1 / 3]);
    expectNumbers(weightsOf(scene, { sinkLogits: sinks(Math.log(2)) }), [0.25, 0.25]);
  });

  it('C10: are neither scaled nor capped, and one a head', () => {
    const twoHeads = {
      query: tf.zeros([1, 2, 1, 1]),
      key: tf.zeros([1, 2, 2, 1]),
      value: tf.ones([1, 2, 2, 1]),
    } as Scene;
    const options = { sinkLogits: sinks(0, Math.log(2)), scale: 7, softcap: 0.1 };
    expectNumbers(weightsOf(twoHeads, options), [1 / 3, 1 / 3, 0.25, 0.25]);
    const { logSumExp } = attend(composed(), twoHeads, { ...options, returns: ['logSumExp'] });
    expectNumbers(logSumExp!, [Math.log(3), Math.log(4)]);
  });

  it('C10: have a gradient', () => {
    // output = 2 e^0 / (2 + e^s): its derivative at s = 0 is -2 / 9.
    const output = (logits: tf.Tensor) =>
      tf.sum(attend(composed(), zeroScores(1, [1, 1]), { sinkLogits: logits as tf.Tensor1D }).output);
    expectNumbers(tf.grad(output)(sinks(0)), [-2 / 9]);
  });

  it('C12: stand beside a mask, the scale and dropout', () => {
    const scene = withScores([[0, 5]], [1, 9]);
    const options = { sinkLogits: sinks(0), mask: hideLast(), scale: 3 };
    expectNumbers(attend(composed(), scene, options).output, [0.5]);
    const kept = numbersOf(
      attend(composed(), scene, { ...options, dropout: { rate: 0.5, seed: 3 } }).output,
    )[0]!;
    expect([0, 1]).toContain(Math.round(kept * 1e5) / 1e5);
  });

  it('C12: give 0 where nothing else is seen', () => {
    const nothing = dense(tf.tensor2d([[0, 0]], [1, 2], 'bool'));
    expectNumbers(
      attend(composed(), zeroScores(1, [1, 9]), { sinkLogits: sinks(0), mask: nothing }).output,
      [0],
    );
  });
});
