import { expectClose, numbersOf, toHost } from '@polyhead/conformance';
import { causal, isAttentionError } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { rotary, toHalfSplitPairs, toInterleavedPairs } from '../index';

const config = {
  embedDim: 10,
  numHeads: 4,
  numKeyValueHeads: 2,
  headDim: 6,
  useBias: true,
  seed: 3,
};

describe('toHalfSplitPairs', () => {
  it.each([undefined, 4])(
    'makes weights of interleaved pairs serve half-split ones: rotaryDim %s',
    (rotaryDim) => {
      const turned = { headDim: 6, ...(rotaryDim && { rotaryDim }) };
      const interleaved = new GroupedQueryAttention(config, {
        position: rotary({ ...turned, interleaved: true }),
      });
      const halfSplit = new GroupedQueryAttention(config, { position: rotary(turned) });
      const weights = Object.entries(interleaved.getWeights()).map(([name, x]) => {
        const random = tf.randomNormal(x.shape, 0, 0.5, 'float32', x.size);
        return [name, random] as const;
      });
      interleaved.setWeights(Object.fromEntries(weights));
      const converted = weights.map(([name, x]) => {
        if (!/^(query|key)\//.test(name)) return [name, x];
        const numHeads = name.startsWith('query') ? config.numHeads : config.numKeyValueHeads;
        return [name, toHalfSplitPairs(x, { numHeads, ...(rotaryDim && { rotaryDim }) })];
      });
      halfSplit.setWeights(Object.fromEntries(converted));
      const query = tf.randomNormal<tf.Rank.R3>([2, 5, 10], 0, 1, 'float32', 2);
      const [one, other] = [interleaved, halfSplit].map((layer) =>
        toHost(layer.apply({ query }, { mask: causal() }).output),
      );
      expectClose({ actual: { output: other! }, expected: { output: one! } });
      interleaved.dispose();
      halfSplit.dispose();
    },
  );

  it('is undone by toInterleavedPairs, for kernels and biases', () => {
    for (const x of [tf.range(0, 24), tf.reshape(tf.range(0, 72), [3, 24])]) {
      const options = { numHeads: 4, rotaryDim: 4 };
      const there = toHalfSplitPairs(x, options);
      expect(numbersOf(there)).not.toEqual(numbersOf(x));
      expect(numbersOf(toInterleavedPairs(there, options))).toEqual(numbersOf(x));
    }
    expect(numbersOf(toHalfSplitPairs(tf.range(0, 6), { numHeads: 1 }))).toEqual([0, 2, 4, 1, 3, 5]);
  });

  it('refuses what is not numHeads heads wide, and an odd rotaryDim', () => {
    expect(() => toHalfSplitPairs(tf.zeros([2, 10]), { numHeads: 3 })).toThrow(/numHeads heads wide/);
    expect(() => toHalfSplitPairs(tf.zeros([2, 9]), { numHeads: 3 })).toThrow(/rotaryDim must be even/);
    expect(() => toHalfSplitPairs(tf.zeros([2, 8]), { numHeads: 2, rotaryDim: -2 })).toThrow(
      /rotaryDim must be a whole number above 0/,
    );
  });

  it('refuses what is no weight or no options by typed errors', () => {
    const calls: [unknown, unknown][] = [
      [undefined, { numHeads: 2 }],
      [null, { numHeads: 2 }],
      [[1, 2], { numHeads: 2 }],
      [tf.zeros([2, 2, 4]), { numHeads: 2 }],
      [tf.scalar(1), { numHeads: 1 }],
      [tf.zeros([2, 4]), undefined],
      [tf.zeros([2, 4]), null],
      [tf.zeros([2, 4]), { numHeads: '2' }],
      [tf.zeros([2, 4]), { numHeads: 2, rotarydim: 2 }],
    ];
    for (const [x, options] of calls) {
      for (const convert of [toHalfSplitPairs, toInterleavedPairs]) {
        let thrown: unknown;
        try {
          convert(x as tf.Tensor, options as { numHeads: number });
        } catch (error) {
          thrown = error;
        }
        expect(thrown).toSatisfy(isAttentionError);
      }
    }
  });
});
