// Padding in the inputs of a layer, which may be any number.
import { numbersOf } from '@polyhead/conformance';
import { dense, validLengths } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { MultiHeadAttention } from './index';

describe('padding in the inputs of a layer', () => {
  const config = { embedDim: 4, numHeads: 2, useBias: true, seed: 1 } as const;
  const norms = [undefined, 'rms', 'layer', 'l2'] as const;

  it.each(norms)(
    'never reaches outputs or gradients of weights, NaN though it be (normalized: %s)',
    (kind) => {
      const layer = new MultiHeadAttention({ ...config, ...(kind && { queryKeyNorm: { kind } }) });
      const clean = tf.randomNormal<tf.Rank.R3>([1, 3, 4], 0, 1, 'float32', 2);
      const padded = tf.concat([clean, tf.fill<tf.Rank.R3>([1, 2, 4], Number.NaN)], 1);
      const query = tf.randomNormal<tf.Rank.R3>([1, 2, 4], 0, 1, 'float32', 3);
      const gradients = (key: tf.Tensor3D) => {
        const loss = () =>
          tf.sum(layer.apply({ query, key }, { mask: validLengths([3]) }).output) as tf.Scalar;
        const { value, grads } = tf.variableGrads(loss);
        return [value, ...layer.variables.map(({ variable }) => grads[variable.name]!)].map((x) =>
          x.arraySync(),
        );
      };
      // Not to the bit: sums may depend on how a backend's threads share the rows.
      const expected = gradients(clean).flat(3) as number[];
      (gradients(padded).flat(3) as number[]).forEach((x, n) => {
        expect(x).toBeCloseTo(expected[n]!, 5);
      });
      layer.dispose();
    },
  );

  it.each([{}, { outputGate: 'number' }, { outputGate: 'head' }] as const)(
    'that sees nothing never reaches gradients, NaN and Infinity though it be: %j',
    (options) => {
      const layer = new MultiHeadAttention({ ...config, ...options });
      const clean = tf.randomNormal<tf.Rank.R3>([1, 3, 4], 0, 1, 'float32', 2);
      const rest = tf.tensor3d([...Array(4).fill(Number.NaN), ...Array(4).fill(Infinity)], [1, 2, 4]);
      const gradients = (query: tf.Tensor3D) => {
        const real = tf.less(tf.range(0, query.shape[1]), 3); // [S]
        const pairs = tf.logicalAnd(tf.expandDims(real, 1), tf.expandDims(real, 0)) as tf.Tensor2D;
        const loss = () => {
          const { output } = layer.apply({ query }, { mask: dense(pairs) });
          return tf.sum(tf.where(tf.reshape(real, [1, -1, 1]), output, tf.zerosLike(output))) as tf.Scalar;
        };
        const { grads } = tf.variableGrads(loss);
        return layer.variables.map(({ variable }) => numbersOf(grads[variable.name]!));
      };
      const expected = gradients(clean);
      gradients(tf.concat([clean, rest], 1)).forEach((actual, n) => {
        actual.forEach((x, i) => {
          expect(x).toBeCloseTo(expected[n]![i]!, 5);
        });
      });
      layer.dispose();
    },
  );

  it('is nothing at all for an empty batch or sequence, gradients included', () => {
    const layer = new MultiHeadAttention(config);
    expect(layer.apply({ query: tf.zeros([0, 3, 4]) }).output.shape).toEqual([0, 3, 4]);
    const empty = tf.zeros<tf.Rank.R3>([2, 0, 4]);
    const query = tf.ones<tf.Rank.R3>([2, 3, 4]);
    const loss = (key: tf.Tensor) =>
      tf.sum(layer.apply({ query, key: key as tf.Tensor3D }).output) as tf.Scalar;
    expect(tf.grad(loss)(empty).shape).toEqual([2, 0, 4]);
    layer.dispose();
  });
});
