import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { times, timesTransposed, transposedTimes } from './multiply';

const random = (shape: [number, number, number, number], seed: number): tf.Tensor4D =>
  tf.randomNormal(shape, 0, 1, 'float32', seed);

/** y's heads, each repeated for its group: what the products never do. */
function repeated(y: tf.Tensor4D, G: number): tf.Tensor4D {
  const [B, H, R, N] = y.shape;
  return tf.reshape(tf.tile(tf.reshape(y, [B * H, 1, R * N]), [1, G, 1]), [B, H * G, R, N]);
}

function expectClose(one: tf.Tensor, other: tf.Tensor) {
  expect(one.shape).toEqual(other.shape);
  expect(tf.max(tf.abs(tf.sub(one, other))).dataSync()[0]).toBeLessThan(1e-5);
}

describe('products of heads', () => {
  it.each([
    [1, 1, 1],
    [1, 1, 3],
    [2, 3, 1],
    [2, 2, 3],
  ])('share the keys of a group: B %i, Hkv %i, G %i', (B, Hkv, G) => {
    const [R, C, N] = [5, 19, 7];
    const q = random([B, Hkv * G, R, N], 1);
    const k = random([B, Hkv, C, N], 2);
    const w = random([B, Hkv * G, R, C], 3);
    expectClose(timesTransposed(q, k), tf.matMul(q, repeated(k, G), false, true));
    expectClose(times(w, k), tf.matMul(w, repeated(k, G)));
    const perHead = tf.matMul(w, q, true, false); // [B, Hkv * G, C, N]
    const summed = tf.sum(tf.reshape(perHead, [B * Hkv, G, C * N]), 1);
    expectClose(transposedTimes(w, q, Hkv), tf.reshape(summed, [B, Hkv, C, N]));
  });
});
