// Calls in which there is nothing to do.
import { expectClose, type Numbers, toHost } from '@polyhead/conformance';
import { type AttentionKernel, attend, causal, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';

describe('empty sizes', () => {
  const shapes: readonly (readonly [string, number, number, number])[] = [
    ['no batch entry', 0, 3, 4],
    ['no query', 2, 0, 4],
    ['no key', 2, 3, 0],
  ];
  it.each(shapes)('give what the default kernel gives: %s', (_, B, Sq, Skv) => {
    const results = (kernel: AttentionKernel): Numbers => {
      const inputs = {
        query: tf.ones<tf.Rank.R4>([B, 2, Sq, 3]),
        key: tf.ones<tf.Rank.R4>([B, 1, Skv, 3]),
        value: tf.ones<tf.Rank.R4>([B, 1, Skv, 2]),
      };
      const options = { mask: causal(), returns: ['logSumExp'] as const };
      const { output, logSumExp } = attend(kernel, inputs, options);
      const loss = (...[query]: tf.Tensor[]) =>
        tf.sum(attend(kernel, { ...inputs, query: query as tf.Tensor4D }, options).output) as tf.Scalar;
      const [dQuery] = tf.grads(loss)([inputs.query]);
      return { output: toHost(output), logSumExp: toHost(logSumExp!), dQuery: toHost(dQuery!) };
    };
    expectClose({ actual: results(fusedKernel()), expected: results(composed()) });
  });
});
