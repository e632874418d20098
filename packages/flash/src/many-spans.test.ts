// Masks whose rows see many runs of keys, and stored rows of which some tokens are missing.
import { randomTensor, seededRandom, toTensor } from '@polyhead/conformance';
import {
  allOf,
  attend,
  causal,
  composed,
  dense,
  predicate,
  type StoredKeyValue,
  segments,
  slidingWindow,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { flash } from './flash';

const kernels = { composed: composed(), flash: flash() };
const [B, H, S, D] = [2, 4, 37, 6];

function heads(count: number, seed: number, tokens = S): tf.Tensor4D {
  return toTensor(randomTensor([B, count, tokens, D], seededRandom(seed))) as tf.Tensor4D;
}

function storageOf(key: tf.Tensor4D, value: tf.Tensor4D, each: Int32Array): StoredKeyValue {
  const [, heads, count] = key.shape;
  const rows = (x: tf.Tensor4D) => ({ data: tf.reshape(x, [-1, D]) as tf.Tensor2D, first: 0, size: D });
  const runs = (b: number) => Int32Array.of(b * heads * count, count);
  return {
    ...{ heads, keySize: D, valueSize: D, lengths: [count, count] },
    ...{ order: { each }, positions: { each } },
    parts: [{ key: rows(key), value: rows(value), headStride: count, runs }],
    materialize: () => ({ key: tf.clone(key), value: tf.clone(value) }),
  };
}

async function expectAlike(actual: tf.Tensor, expected: tf.Tensor): Promise<void> {
  expect(actual.shape).toEqual(expected.shape);
  const difference = await tf.max(tf.abs(tf.sub(actual, expected))).data();
  expect(difference[0]).toBeLessThan(2e-6);
}

describe.each(Object.entries(kernels))('%s', (_name, kernel) => {
  beforeAll(() => kernel.prepare?.());

  const parity = Array.from({ length: B }, (_, b) => Array.from({ length: S }, (__, t) => (t + b) % 2));
  it.each([
    [
      'segments',
      () => allOf(causal(), segments(parity)),
      (_h: number, q: number, k: number) => k <= q && (q - k) % 2 === 0,
    ],
    [
      'a predicate of heads',
      () => predicate((_b, h, q, k) => (h + q + k) % 3 > 0),
      (h: number, q: number, k: number) => (h + q + k) % 3 > 0,
    ],
  ])('computes %s as the same mask in a tensor, gradients too', async (_kind, mask, rule) => {
    const [query, key, value] = [heads(H, 1), heads(2, 2), heads(2, 3)];
    const shown = Array.from({ length: H * S * S }, (_, n) => {
      return Number(rule(Math.floor(n / (S * S)), Math.floor(n / S) % S, n % S));
    });
    const tensor = dense(tf.tensor4d(shown, [1, H, S, S], 'bool'));
    const loss = (with_: typeof tensor) => (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) => {
      const inputs = { query: q as tf.Tensor4D, key: k as tf.Tensor4D, value: v as tf.Tensor4D };
      return tf.sum(tf.square(attend(kernel, inputs, { mask: with_ }).output)) as tf.Scalar;
    };
    const inputs = { query, key, value };
    await expectAlike(
      attend(kernel, inputs, { mask: mask() }).output,
      attend(kernel, inputs, { mask: tensor }).output,
    );
    const actual = tf.grads(loss(mask()))([query, key, value]);
    const expected = tf.grads(loss(tensor))([query, key, value]);
    for (const [n, gradient] of actual.entries()) await expectAlike(gradient, expected[n]!);
  });

  it('sees stored rows of which tokens are missing as the whole sequence without them', async () => {
    const [query, key, value] = [heads(H, 4, 5), heads(2, 5), heads(2, 6)];
    const kept = Array.from({ length: S }, (_, t) => t).filter((t) => t < 2 || t > 20 || t % 7 === 0);
    const rows = (x: tf.Tensor4D) => tf.gather(x, tf.tensor1d(kept, 'int32'), 2);
    const stored = storageOf(rows(key), rows(value), Int32Array.from(kept));
    const isKept = predicate((_b, _h, _q, k) => kept.includes(k));
    for (const mask of [undefined, causal(), slidingWindow({ left: 18, right: 0 }), segments(parity)]) {
      const options = { dropout: { rate: 0.3, seed: 5 }, queryStart: S - 5 };
      await expectAlike(
        attend(kernel, { query, stored }, { ...options, ...(mask && { mask }) }).output,
        attend(kernel, { query, key, value }, { ...options, mask: mask ? allOf(mask, isKept) : isKept })
          .output,
      );
    }
    const falling = { ...stored, order: { each: Int32Array.from(kept).reverse() } };
    expect(() => attend(kernel, { query, stored: falling })).toThrow(/order of stored rows must rise/);
  });
});
