import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { attend, causal, composed, scaledDotProductAttention, validLengths, slidingWindow, allOf } from './index';
it('smoke', () => {
  const q = tf.randomNormal([2, 4, 300, 16]) as tf.Tensor4D, k = tf.randomNormal([2, 4, 300, 16]) as tf.Tensor4D, v = tf.randomNormal([2, 4, 300, 16]) as tf.Tensor4D;
  for (const mask of [undefined, causal(), allOf(causal(), validLengths([100, 300])), slidingWindow({ left: 3, right: 2 })]) {
    const r = attend(composed, { query: q, key: k, value: v }, { ...(mask && { mask }), returns: ['weights', 'logSumExp'] });
    const s = tf.mul(tf.matMul(q, k, false, true), 0.25);
    const allow = tf.buffer([2, 1, 300, 300]);
    for (let b = 0; b < 2; b++) for (let i = 0; i < 300; i++) for (let j = 0; j < 300; j++) {
      const vis = mask === undefined || mask.spans({ b, h: 0, index: i, query: i, end: 300 }).some(([f, t]) => j >= f && j < t);
      allow.set(vis ? 0 : -1e30, b, 0, i, j);
    }
    const w = tf.softmax(tf.add(s, allow.toTensor()));
    const o = tf.matMul(w, v);
    expect(tf.max(tf.abs(tf.sub(o, r.output))).dataSync()[0]).toBeLessThan(1e-5);
    expect(tf.max(tf.abs(tf.sub(w, r.weights!))).dataSync()[0]).toBeLessThan(1e-5);
    const f = (a: tf.Tensor, b: tf.Tensor, c: tf.Tensor) => tf.sum(tf.mul(attend(composed, { query: a as tf.Tensor4D, key: b as tf.Tensor4D, value: c as tf.Tensor4D }, mask ? { mask } : {}).output, v)) as tf.Scalar;
    const g = (a: tf.Tensor, b: tf.Tensor, c: tf.Tensor) => tf.sum(tf.mul(tf.matMul(tf.softmax(tf.add(tf.mul(tf.matMul(a, b, false, true), 0.25), allow.toTensor())), c), v)) as tf.Scalar;
    const one = tf.grads(f)([q, k, v]), two = tf.grads(g)([q, k, v]);
    one.forEach((x, i) => expect(tf.max(tf.abs(tf.sub(x, two[i]!))).dataSync()[0]).toBeLessThan(1e-4));
  }
  const e = scaledDotProductAttention(q, k, v, { mask: validLengths([0, 300]) });
  expect(tf.max(tf.abs(tf.slice(e.output, [0, 0, 0, 0], [1, 4, 300, 16]))).dataSync()[0]).toBe(0);
});
