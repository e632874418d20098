// A mask written elsewhere, from what '@polyhead/core' exports.
import {
  allOf,
  attend,
  causal,
  composed,
  countsOf,
  intersectSpans,
  type Mask,
  normalizeSpans,
  type Span,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';

/** Each query sees `width` keys, itself the last, every `step` tokens. */
function dilatedWindow(width: number, step: number): Mask {
  countsOf('dilatedWindow', 'width, step', [width, step]);
  return {
    name: `dilatedWindow(${width}, ${step})`,
    perBatch: false,
    perHead: false,
    spans({ query, start, end }) {
      const keys = Array.from({ length: width }, (_, n): Span => [query - n * step, query - n * step + 1]);
      return intersectSpans(normalizeSpans(keys, [start, end]), [[0, query + 1]]);
    },
    toJSON: () => ({ kind: 'dilatedWindow', width, step }),
  };
}

const numbers = (keys: number) => tf.reshape(tf.range(0, keys), [1, 1, keys, 1]) as tf.Tensor4D;

describe('a mask written elsewhere', () => {
  it.each([2, 20])('shows its %i keys', async (width) => {
    const query: tf.Tensor4D = tf.zeros([1, 1, 40, 1]);
    const inputs = { query, key: query, value: numbers(40) };
    for (const mask of [dilatedWindow(width, 2), allOf(causal(), dilatedWindow(width, 2))]) {
      const output = [...(await attend(composed(), inputs, { mask }).output.data())];
      const expected = output.map((_, i) => {
        const seen = Array.from({ length: width }, (__, n) => i - 2 * n).filter((j) => j >= 0);
        return seen.reduce((sum, j) => sum + j, 0) / seen.length;
      });
      output.forEach((x, i) => {
        expect(x).toBeCloseTo(expected[i]!, 4);
      });
    }
  });

  const own = (parts: object) =>
    ({ name: 'odd', perBatch: false, perHead: false, spans: () => [[0, 9]], ...parts }) as unknown as Mask;
  const attendOwn = (parts: object, around = (mask: Mask) => mask) => {
    const [query, key]: tf.Tensor4D[] = [tf.zeros([1, 2, 3, 1]), tf.zeros([1, 2, 5, 1])];
    return attend(composed(), { query: query!, key: key!, value: key! }, { mask: around(own(parts)) });
  };
  it.each([
    ['spans that are none', { spans: () => [[0, Number.NaN]] }, /odd: spans must be a list of \[from, to\)/],
    ['spans later', { spans: async () => [[0, 1]] }, /odd: spans must be a list/],
    ['no name', { name: undefined }, /mask\.name must be a string/],
    ['axes that are not said', { perHead: undefined }, /mask\.perHead must be true or false/],
    ['a check that is none', { check: 5 }, /mask\.check must be a function/],
    ['a start that is none', { start: () => 0.5 }, /odd: start must be a whole number/],
    [
      'a tensor that is no list',
      () => ({ dense: tf.ones([3, 5], 'bool') }),
      /mask\.dense must be a list of tensors/,
    ],
    ['no tensor', { dense: [5] }, /odd: mask must be a tensor/],
    [
      'a tensor too small',
      () => ({ dense: [tf.ones([2, 5], 'bool')] }),
      /odd: mask must broadcast to \[B, Hq, Sq, Skv\]/,
    ],
    [
      'a tensor of other heads',
      () => ({ dense: [tf.ones([1, 3, 1, 5], 'int32')] }),
      /odd: mask must broadcast/,
    ],
    ['a tensor of numbers', () => ({ dense: [tf.ones([3, 5])] }), /odd: mask must be bool or int32/],
    [
      'a tensor of rank 3',
      () => ({ dense: [tf.ones([1, 3, 5], 'bool')] }),
      /odd: .*rank 3 could mean two things/,
    ],
  ])('is refused with %s, by its name', (_name, parts, message) => {
    const made = typeof parts === 'function' ? parts() : parts;
    expect(() => attendOwn(made)).toThrow(message);
    const around = new RegExp(message.source.replace('mask\\.', '').replace('odd:', 'odd\\)?:'));
    expect(() => attendOwn(made, allOf)).toThrow(around);
  });

  it('is refused with a disposed tensor', () => {
    const tensor = tf.ones([3, 5], 'bool');
    tensor.dispose();
    expect(() => attendOwn({ dense: [tensor] })).toThrow(/odd: .*disposed/);
  });

  it('takes null for what it has not', () => {
    expect(attendOwn({ dense: null, check: null, start: null }, allOf).output.shape).toEqual([1, 2, 3, 1]);
  });
});
