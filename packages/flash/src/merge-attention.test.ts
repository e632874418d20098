import { attentionCase, expectNumbers, numbersOf, toTensors } from '@polyhead/conformance';
import { attend, causal, composed, type Mask, slidingWindow } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';
import { mergeAttention, type PartialAttention } from './index';

const [Sq, Skv] = [5, 9];
const sizes = { B: 2, Hq: 4, Hkv: 2, Sq, Skv, D: 3, Dv: 6 };
const returns = ['logSumExp'] as const;
const kernels = [composed(), fusedKernel()];

type Heads = readonly [query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D];

function heads(): Heads {
  const { query, key, value } = toTensors(attentionCase({ sizes }).arrays) as {
    [name: string]: tf.Tensor4D;
  };
  return [query!, key!, value!];
}

/** Attention over each part of the keys. Spans count from the first key, so a mask stands where it stood. */
function split([query, key, value]: Heads, ends: readonly number[], mask: Mask): PartialAttention[] {
  return ends.map((end, n) => {
    const [from, kernel] = [ends[n - 1] ?? 0, kernels[n % 2]!];
    const cut = (x: tf.Tensor4D) => tf.slice(x, [0, 0, from, 0], [-1, -1, end - from, -1]);
    const queryStart = Skv - Sq - from;
    const options = { mask, queryStart, returns };
    const { output, logSumExp } = attend(kernel, { query, key: cut(key), value: cut(value) }, options);
    return { output, logSumExp: logSumExp! };
  });
}

function whole([query, key, value]: Heads, mask: Mask): PartialAttention {
  const { output, logSumExp } = attend(fusedKernel(), { query, key, value }, { mask, returns });
  return { output, logSumExp: logSumExp! };
}

function expectSame(actual: PartialAttention, expected: PartialAttention): void {
  expectNumbers(actual.output, numbersOf(expected.output));
  expectNumbers(actual.logSumExp, numbersOf(expected.logSumExp));
}

describe('mergeAttention', () => {
  it.each([[[9]], [[4, 9]], [[1, 8, 9]], [[3, 6, 9]]])(
    'of keys split at %j is attention over all',
    (ends) => {
      const inputs = heads();
      expectSame(mergeAttention(split(inputs, ends, causal())), whole(inputs, causal()));
    },
  );

  it('takes rows that see nothing of a part, or of any', () => {
    const inputs = heads();
    const mask = slidingWindow({ left: 0, right: 0 });
    expectSame(mergeAttention(split(inputs, [3, 6, 9], mask)), whole(inputs, mask));
    const nothing = { output: tf.zeros<tf.Rank.R4>([1, 1, 2, 3]), logSumExp: tf.fill([1, 1, 2], -Infinity) };
    const merged = mergeAttention([nothing, nothing] as PartialAttention[]);
    expectNumbers(merged.output, [0, 0, 0, 0, 0, 0]);
    expectNumbers(merged.logSumExp, [-Infinity, -Infinity]);
  });

  it('is associative, and knows no order', () => {
    const parts = split(heads(), [2, 5, 9], causal()) as [
      PartialAttention,
      PartialAttention,
      PartialAttention,
    ];
    const [a, b, c] = parts;
    const all = mergeAttention(parts);
    expectSame(mergeAttention([mergeAttention([a, b]), c]), all);
    expectSame(mergeAttention([a, mergeAttention([b, c])]), all);
    expectSame(mergeAttention([c, a, b]), all);
  });

  it('has the gradients of attention over all, through log-sum-exp too', () => {
    const inputs = heads();
    const [ofOutput, ofSum] = [
      tf.randomNormal([2, 4, Sq, 6], 0, 1, 'float32', 1),
      tf.randomNormal([2, 4, Sq], 0, 1, 'float32', 2),
    ];
    const lossOf = (f: (inputs: Heads) => PartialAttention) =>
      tf.grads((...tensors) => {
        const { output, logSumExp } = f(tensors as unknown as Heads);
        return tf.add(tf.sum(tf.mul(output, ofOutput)), tf.sum(tf.mul(logSumExp, ofSum)));
      });
    const ofParts = lossOf((x) => mergeAttention(split(x, [4, 6, 9], causal())))([...inputs]);
    const ofAll = lossOf((x) => whole(x, causal()))([...inputs]);
    ofAll.forEach((gradient, n) => {
      expectNumbers(ofParts[n]!, numbersOf(gradient));
    });
  });

  it('keeps its results, and nothing else', () => {
    const parts = split(heads(), [4, 9], causal());
    const before = tf.memory().numTensors;
    mergeAttention(parts);
    expect(tf.memory().numTensors).toBe(before + 2);
  });

  it('refuses no parts, parts of other sizes, and parts without log-sum-exp', () => {
    const [a] = split(heads(), [9], causal()) as [PartialAttention];
    expect(() => mergeAttention([])).toThrow(/at least one part/);
    expect(() => mergeAttention([a, { output: a.output }])).toThrow(/logSumExp of part 1 must be a tensor/);
    const shorter = { output: tf.zeros([2, 4, 3, 6]), logSumExp: tf.zeros([2, 4, 3]) } as PartialAttention;
    expect(() => mergeAttention([a, shorter])).toThrow(/must have the same sizes/);
  });
});
