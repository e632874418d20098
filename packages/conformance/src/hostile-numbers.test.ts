// Numbers that are legal and dangerous: NaN, Infinity and huge values where nobody looks, and sums that overflow.
import {
  type AttendOptions,
  attend,
  causal,
  composed,
  dense,
  type Mask,
  predicate,
  validLengths,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';

const all = ['weights', 'logSumExp'] as const;

/** [1, H, S, 1] from a list for each head. */
const heads = (...rows: number[][]): tf.Tensor4D =>
  tf.tensor4d(rows.flat(), [1, rows.length, rows[0]!.length, 1]);
const hide = (...pairs: number[][]): Mask => dense(tf.tensor2d(pairs, undefined, 'int32'));

interface Call {
  readonly query: tf.Tensor4D;
  readonly key: tf.Tensor4D;
  readonly value: tf.Tensor4D;
}

/** Every number that comes out, gradients included. */
function everyNumber({ query, key, value }: Call, options: AttendOptions): number[] {
  const { output, weights, logSumExp } = attend(
    composed(),
    { query, key, value },
    { ...options, returns: all },
  );
  const loss = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) =>
    tf.sum(attend(composed(), { query: q, key: k, value: v } as Call, options).output) as tf.Scalar;
  const gradients = tf.grads(loss)([query, key, value]);
  return [output, weights!, logSumExp!, ...gradients].flatMap((x) => [...x.dataSync()]);
}

const first = (call: Call, options: AttendOptions) => attend(composed(), call, options).output.dataSync()[0]!;

describe('composed', () => {
  it('gives zeros for a row that sees nothing and whose sink is -Infinity', () => {
    const call = { query: heads([1, 1]), key: heads([1, 2]), value: heads([3, 5]) };
    const options = { mask: predicate((_b, _h, query) => query > 0), sinkLogits: tf.tensor1d([-Infinity]) };
    const { output, weights, logSumExp } = attend(composed(), call, { ...options, returns: all });
    expect(output.dataSync()[0]).toBe(0);
    expect([...weights!.dataSync()].slice(0, 2)).toEqual([0, 0]);
    expect(logSumExp!.dataSync()[0]).toBe(-Infinity);
    expect(output.dataSync()[1]).toBeCloseTo(3 + 2 / (1 + Math.exp(-1)), 5);
    expect(everyNumber(call, options).some(Number.isNaN)).toBe(false);
  });

  it('does not let a sink of -Infinity in one head change the sink of another', () => {
    const call = { query: heads([0], [0]), key: heads([0], [0]), value: heads([4], [4]) };
    const options = { mask: hide([0]), sinkLogits: tf.tensor1d([-Infinity, 2]) };
    const { logSumExp } = attend(composed(), call, { ...options, returns: all });
    expect([...logSumExp!.dataSync()]).toEqual([-Infinity, 2]);
  });

  it('gives zeros, not NaN, where two finite biases add up to -Infinity', () => {
    const call = { query: heads([1]), key: heads([1, 1]), value: heads([3, 5]) };
    const bias = tf.fill<tf.Rank.R4>([1, 1, 1, 1], -3.4e38);
    const relative = { bias: { table: tf.fill<tf.Rank.R2>([1, 2], -3.4e38), index: { from: -1 } } };
    expect(first(call, { bias, relative })).toBe(0);
  });

  it.each([3e38, -3e38, Infinity, Number.NaN])('lets nothing out of a hidden row of %d', (huge) => {
    const query = heads([10]);
    const hidden = { mask: hide([1, 0]) };
    expect(first({ query, key: heads([1, huge]), value: heads([5, 7]) }, hidden)).toBe(5);
    expect(first({ query, key: heads([1, 1]), value: heads([5, huge]) }, hidden)).toBe(5);
    const numbers = everyNumber({ query, key: heads([1, huge]), value: heads([5, huge]) }, hidden);
    expect(numbers.every(Number.isFinite)).toBe(true);
    const withMaskedRow = { query: heads([1, huge]), key: heads([1, 2]), value: heads([5, 6]) };
    const onlyFirst = { mask: hide([1, 1], [0, 0]) };
    const ofMaskedRow = everyNumber(withMaskedRow, onlyFirst).filter((x) => x !== -Infinity); // the masked row's log-sum-exp
    expect(ofMaskedRow.every(Number.isFinite)).toBe(true);
  });

  it('keeps a key that only other heads see out of a head', () => {
    const call = {
      query: heads([1, 1], [1, 1]),
      key: heads([Number.NaN, 1], [1, 1]),
      value: heads([Number.NaN, 2], [3, 4]),
    };
    const mask = predicate((_b, h, _query, key) => !(h === 0 && key === 0));
    expect(everyNumber(call, { mask }).every(Number.isFinite)).toBe(true);
    expect(first(call, { mask })).toBe(2);
  });

  it('keeps out a key hidden by a table bias of -Infinity', () => {
    const call = { query: heads([1]), key: heads([1, Number.NaN]), value: heads([3, Number.NaN]) };
    const table = tf.tensor2d([[0, -Infinity]]);
    const options = { relative: { bias: { table, index: { from: 0 } } }, queryStart: 0 };
    expect(first(call, options)).toBe(3);
    expect(everyNumber(call, options).every(Number.isFinite)).toBe(true);
  });

  it('gives zeros for the gradient of a bias that no key takes', () => {
    const query = tf.ones<tf.Rank.R4>([1, 2, 1, 1]);
    const none = tf.zeros<tf.Rank.R4>([1, 2, 0, 1]);
    const loss = (bias: tf.Tensor) =>
      tf.sum(
        attend(composed(), { query, key: none, value: none }, { bias: bias as tf.Tensor4D }).output,
      ) as tf.Scalar;
    expect([
      ...tf
        .grad(loss)(tf.ones([1, 2, 1, 1]))
        .dataSync(),
    ]).toEqual([0, 0]);
  });

  it('sees the last key of many where rows end early', () => {
    const S = 300;
    const x = tf.ones<tf.Rank.R4>([2, 1, S, 8]);
    const { output } = attend(composed(), { query: x, key: x, value: x }, { mask: validLengths([0, S]) });
    expect(tf.sum(output).dataSync()[0]).toBeCloseTo(S * 8, 1);
    expect(first({ query: x, key: x, value: x }, { mask: causal() })).toBeCloseTo(1, 5);
  });

  it('averages values near the end of float32', () => {
    const values = Array.from({ length: 9 }, () => 3.4e38);
    const call = { query: heads([0]), key: heads(Array(9).fill(0)), value: heads(values) };
    expect(first(call, {}) / 3.4e38).toBeCloseTo(1, 5);
    expect(first(call, { mask: causal() }) / 3.4e38).toBeCloseTo(1, 5);
  });

  it('takes scales and softcaps for what float32 holds of them', () => {
    const call = { query: heads([1e20]), key: heads([1e18, 1]), value: heads([3, 5]) };
    expect(first(call, { scale: 1e-50 })).toBe(4); // scale 0
    expect(first(call, { scale: 1e-50, softcap: 3e38 })).toBe(4);
    for (const softcap of [1e39, 1e-50, -1, Number.NaN])
      expect(() => first(call, { softcap })).toThrow(/softcap must be above 0 in float32/);
    expect(() => first(call, { scale: 1e39 })).toThrow(/scale must be/);
  });

  it.each([1e-42, 1e-3, 3e38])('gives finite numbers at a softcap of %d', (softcap) => {
    const call = { query: heads([1, 1]), key: heads([1, -1]), value: heads([3, 5]) };
    expect(everyNumber(call, { softcap, mask: causal() }).every(Number.isFinite)).toBe(true);
  });

  it('keeps out a hidden pair that overflows by the scale, or through a table', () => {
    const call = { query: heads([1e5, 1]), key: heads([1, 1e5]), value: heads([5, 7]) };
    expect(first(call, { mask: causal(), scale: 1e30 })).toBe(5);
    const table = tf.tensor3d([0, 1e38, 1e38], [1, 3, 1]);
    const relative = { keys: { table, index: { from: -1 } } };
    expect(first(call, { mask: causal(), scale: 1, relative })).toBeNaN(); // it sees 1e38 * 1e5
    const later = { keys: { table: tf.tensor3d([0, 0, 1e38], [1, 3, 1]), index: { from: -1 } } };
    expect(first(call, { mask: causal(), scale: 1, relative: later })).toBe(5);
  });

  it('lets a row of a table that is NaN spoil the rows that see it only', () => {
    const call = { query: heads([1, 1, 1]), key: heads([1, 1, 1]), value: heads([1, 2, 3]) };
    const behindTwo = (width: number) =>
      tf.tensor3d(
        [Number.NaN, 0, 0].flatMap((x) => Array(width).fill(x)),
        [1, 3, width],
      );
    for (const name of ['keys', 'queries', 'values'] as const) {
      const relative = { [name]: { table: behindTwo(1), index: { from: -2 } } };
      const { output } = attend(composed(), call, { mask: causal(), relative });
      expect([...output.dataSync()]).toEqual([1, 1.5, Number.NaN]);
    }
  });

  it('leaves out of gradients what a bias or sink of NaN does to rows that the loss does not use', () => {
    const call = { query: heads([1, 1]), key: heads([1, 2]), value: heads([3, 5]) };
    const bias = tf.tensor4d([0, 0, Number.NaN, 0], [1, 1, 2, 2]);
    const gradients = tf.grads((q, k, v, b) => {
      const inputs = { query: q, key: k, value: v } as Call;
      const { output } = attend(composed(), inputs, { bias: b as tf.Tensor4D });
      return tf.sum(tf.slice(output, [0, 0, 0, 0], [1, 1, 1, 1]));
    })([call.query, call.key, call.value, bias]);
    expect(gradients.flatMap((x) => [...x.dataSync()]).every(Number.isFinite)).toBe(true);
  });
});
