import { type ComingRows, isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { checkLengths, checkRows } from './check-rows';

const shape = { batch: 2, heads: 3, keySize: 5, valueSize: 4 };
type Shape = [number, number, number, number];
const zeros = (...size: Shape) => tf.zeros<tf.Rank.R4>(size);

const check =
  (changes: () => object = () => ({})) =>
  () =>
    checkRows('cache.stage', shape, {
      rows: { key: zeros(2, 3, 6, 5), value: zeros(2, 3, 6, 4), ...changes() },
      valueSize: shape.valueSize,
    }).counts;

describe('checkRows', () => {
  it('gives the number of new tokens of each batch entry', () => {
    expect(check(() => ({ lengths: null, positions: undefined, layer: null }))()).toEqual([6, 6]);
    expect(check(() => ({ positions: { start: undefined, each: new Int32Array(6) } }))()).toEqual([6, 6]);
    expect(check()()).toEqual([6, 6]);
    expect(check(() => ({ lengths: [0, 6] }))()).toEqual([0, 6]);
    expect(check(() => ({ positions: { start: [-3] } }))()).toEqual([6, 6]);
    expect(check(() => ({ positions: { each: new Int32Array(6) } }))()).toEqual([6, 6]);
    expect(check(() => ({ positions: { each: new Int32Array(12) } }))()).toEqual([6, 6]);
  });

  it('takes sizes alone, of rows that are to be written', () => {
    const sizes = { key: { shape: [2, 3, 6, 5] as Shape }, value: { shape: [2, 3, 6, 4] as Shape } };
    const checkSizes = (rows: ComingRows) =>
      checkRows('cache.reserve', shape, { rows, valueSize: shape.valueSize, areTensors: false }).counts;
    expect(checkSizes(sizes)).toEqual([6, 6]);
    expect(() => checkSizes({ ...sizes, key: sizes.value })).toThrow(
      /key must fit the cache: \[2, 3, S, 5\]/,
    );
    expect(() => checkSizes({ ...sizes, key: undefined as never })).toThrow(/key must be a tensor/);
    expect(check(() => ({ key: sizes.key }))).toThrow(/key must be a tensor/);
  });

  it.each([
    [
      'another batch',
      () => ({ key: zeros(1, 3, 6, 5) }),
      /key must fit the cache: \[2, 3, S, 5\]\n {2}key {2}\[1, 3, 6, 5\]/,
    ],
    ['other heads', () => ({ key: zeros(2, 2, 6, 5) }), /key must fit/],
    [
      'another size of values',
      () => ({ value: zeros(2, 3, 6, 5) }),
      /value must fit the cache: \[2, 3, S, 4\]/,
    ],
    ['another number of values', () => ({ value: zeros(2, 3, 5, 4) }), /value must have the length of key/],
    ['another dtype', () => ({ key: tf.zeros([2, 3, 6, 5], 'int32') }), /key must be float32/],
    ['another rank', () => ({ key: tf.zeros([3]) }), /key must have rank 4/],
    ['too few lengths', () => ({ lengths: [3] }), /lengths must have one number for each batch entry/],
    [
      'lengths beyond the rows',
      () => ({ lengths: [6, 7] }),
      /lengths must not go beyond the tokens there are/,
    ],
    ['broken lengths', () => ({ lengths: [0.5, 1] }), /lengths must be whole numbers of at least 0/],
    ['too many starts', () => ({ positions: { start: [0, 0, 0] } }), /positions.start must have one number/],
    ['broken starts', () => ({ positions: { start: [0.5] } }), /positions.start must be a list of whole/],
    [
      'a start beyond 32 bits',
      () => ({ positions: { start: [2 ** 40] } }),
      /positions.start must be a list of whole numbers within 32 bits/,
    ],
    ['a start that is no list', () => ({ positions: { start: 1 } }), /positions.start must be a list/],
    ['positions of neither kind', () => ({ positions: {} }), /positions must be \{ start: number\[\] \}/],
    ['positions that are no object', () => ({ positions: 3 }), /positions must be an object/],
    ['a list of each position', () => ({ positions: { each: [1] } }), /\{ each: Int32Array \}/],
    ['positions as floats', () => ({ positions: { each: new Float32Array(6) } }), /\{ each: Int32Array \}/],
    ...[6, 0, Number.NaN, '', false].map((lengths): [string, () => object, RegExp] => [
      `lengths ${JSON.stringify(lengths)}`,
      () => ({ lengths }),
      /lengths must be a list/,
    ]),
    ['a hole in lengths', () => ({ lengths: Array(2).fill(1, 0, 1) }), /lengths must be whole numbers/],
    ['positions 0', () => ({ positions: 0 }), /positions must be an object/],
    ['a layer without a name', () => ({ layer: {} }), /layer must have a name/],
    ['rows that are not known', () => ({ keys: 1 }), /unknown +\[keys\]/],
    [
      'too few positions',
      () => ({ positions: { each: new Int32Array(5) } }),
      /positions.each must have one number for each token/,
    ],
  ])('names %s', (_, changes, message) => {
    expect(check(changes)).toThrow(message);
    expect(check(changes)).toThrow(expect.toSatisfy(isAttentionError));
  });
});

describe('checkLengths', () => {
  it('lets nothing but what is there be kept', () => {
    expect(() => checkLengths('cache.crop', [3, 0], [3, 1])).not.toThrow();
    expect(() => checkLengths('cache.crop', [3, 2], [3, 1])).toThrow(/crop: lengths must not go beyond/);
    expect(() => checkLengths('cache.crop', [-1, 0], [3, 1])).toThrow(/whole numbers of at least 0/);
    expect(() => checkLengths('cache.crop', [0], [3, 1])).toThrow(/one number for each batch entry/);
  });
});
