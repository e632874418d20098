import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { QuantizedWeights, quantizeWeights } from '@polyhead/core';
import { GrowingCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { attention, cachesOf, config, ids, numbers } from '../fixtures/small-models';
import { Decoder } from '../index';

/** Sets the matrices of a model to the numbers that 8 bits stand for. */
function roundMatrices(model: Decoder): void {
  for (const { name, variable } of model.variables) {
    if (variable.rank !== 2) continue;
    tf.tidy(() => {
      const isTable = name.endsWith('/table');
      const flipped = (x: tf.Tensor) => (isTable ? x : tf.transpose(x)) as tf.Tensor2D;
      const weights = QuantizedWeights.fromFloats(flipped(variable as tf.Tensor));
      variable.assign(flipped(weights.toFloats()));
      weights.dispose();
    });
  }
}

it.each(['own', 'tied'] as const)(
  'a decoder in 8 bits, head %s, is that of the rounded weights, and leaves nothing',
  (head) => {
    const before = memoryNow();
    const [model, rounded] = [0, 1].map(() => new Decoder({ ...config, head }, { attention })) as [
      Decoder,
      Decoder,
    ];
    const tokens = ids([1, 5, 2, 9, 10]);
    roundMatrices(rounded);
    const expected = tf.tidy(() => numbers(rounded.apply(tokens).logits));
    const { matrices } = quantizeWeights(model, 'int8');
    // Four projections and three maps of each block, the table of tokens, and the head unless it is that table.
    expect(matrices.length).toBe(3 * 7 + (head === 'own' ? 2 : 1));
    expect(model.variables.every(({ variable }) => variable.rank !== 2)).toBe(true);
    const caches = cachesOf(model, 1, (shape) => new GrowingCache(shape));
    const actual = tf.tidy(() => numbers(model.apply(tokens, { cache: caches }).logits));
    const largest = Math.max(...expected.map(Math.abs));
    actual.forEach((logit, n) => {
      expect(Math.abs(logit - expected[n]!)).toBeLessThan(1e-4 * largest);
    });
    for (const held of [...caches.self, model, model, rounded]) held.dispose();
    tokens.dispose();
    expectSameMemory(before);
  },
);
