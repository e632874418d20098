import { numbersOf } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { equalRoom, packed, type RowLayout } from './row-layout';
import { scatterRows } from './scatter-rows';

const shape = { batch: 2, heads: 2, keySize: 2, valueSize: 2 };
const room = equalRoom(shape, 3); // head 0 and 1 of entry 0, then of entry 1: three rows each

/** A number for each row, twice. */
const marked = ({ rows }: RowLayout, first: number) =>
  tf.tensor2d(Array.from({ length: rows }, (_, n) => [first + n, first + n]));

const cases = {
  'all rows': {
    layout: equalRoom(shape, 1),
    ...{ counts: [1, 1], at: [2, 1], expected: [0, 1, 20, 3, 4, 21, 6, 22, 8, 9, 23, 11] },
  },
  'the tokens that count': {
    layout: equalRoom(shape, 2),
    ...{ counts: [0, 2], at: [3, 1], expected: [0, 1, 2, 3, 4, 5, 6, 24, 25, 9, 26, 27] },
  },
  'rows that lie otherwise': {
    layout: packed(shape, [1, 2]),
    ...{ counts: [1, 2], at: [1, 0], expected: [0, 20, 2, 3, 23, 5, 21, 22, 8, 24, 25, 11] },
  },
  'no row': {
    layout: equalRoom(shape, 1),
    ...{ counts: [0, 0], at: [1, 1], expected: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] },
  },
};

it.each(Object.entries(cases))('puts %s at their places', (_, { layout, counts, at, expected }) => {
  const source = { data: marked(layout, 20), layout, counts };
  const rows = scatterRows(source, { data: marked(room, 0), layout: room, at });
  expect(numbersOf(rows)).toEqual(expected.flatMap((number) => [number, number]));
});
