import { numbersOf } from '@polyhead/conformance';
import type { KeyValuePart } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { copyColumns, joinColumns, scatterColumns, writesInPlace } from './row-columns';
import {
  equalLayout,
  gatherColumns,
  gatherRows,
  packedLayout,
  type RowLayout,
  runsIn,
  selectTokens,
  writeRows,
} from './row-storage';

const shape = { batch: 2, heads: 2, keySize: 1, valueSize: 1 };

/** Rows numbered from `first` on, as they lie, in both columns of a tensor. */
function numbered(layout: RowLayout, first: number, counts: readonly number[], skipped?: readonly number[]) {
  const data = tf.tensor2d(Array.from({ length: layout.rows }, (_, n) => [first + n, -first - n]));
  const column = (n: number) => ({ data, first: n, size: 1 });
  const { headStride } = layout;
  return { key: column(0), value: column(1), headStride, runs: runsIn(layout, counts, skipped) };
}

/** By hand: batch entry 0 has tokens a b, then x; batch entry 1 has token c, then y z. */
const old = packedLayout(shape, [2, 1]); // head 0: 0 1 | 2, head 1: 3 4 | 5
const fresh = equalLayout(shape, 3); // 10 11 12 | 13 14 15 || 16 17 18 | 19 20 21
const sources = () => [numbered(old, 0, [2, 1]), numbered(fresh, 10, [1, 2])];

const targets: [string, RowLayout, number[]][] = [
  ['packed', packedLayout(shape, [3, 3]), [0, 1, 10, 2, 16, 17, 3, 4, 13, 5, 19, 20]],
  ['with just enough space', equalLayout(shape, 3), [0, 1, 10, 3, 4, 13, 2, 16, 17, 5, 19, 20]],
  ['with more space', equalLayout(shape, 4), [0, 1, 10, 0, 3, 4, 13, 0, 2, 16, 17, 0, 5, 19, 20, 0]],
];

describe.each(targets)('rows gathered %s', (_, layout, expected) => {
  it('are behind one another in each head, by either way', () => {
    const { key, value, headStride, runs } = gatherRows(shape, sources(), layout);
    expect([key.data.shape, headStride]).toEqual([[expected.length, 1], layout.headStride]);
    expect([runs(0), runs(1)]).toEqual(layout.first.map((first) => Int32Array.of(first, 3)));
    const joined = joinColumns(
      shape,
      sources().map((source) => ({ ...source, ...source.key })),
      layout,
    );
    for (const rows of [key.data, tf.abs(value.data), joined]) expect(numbersOf(rows)).toEqual(expected);
  });
});

describe('gatherRows', () => {
  it('copies', ({ skip }) => {
    skip(!writesInPlace(), 'no tensor can be changed here');
    const source = numbered(old, 1, [2, 1]);
    const { key } = gatherRows(shape, [source], old);
    const zeros = { ...source, data: tf.zeros([6, 2]), first: 0, size: 1 };
    copyColumns(shape, zeros, { ...source, ...source.key });
    expect(numbersOf(source.key.data).filter((_, n) => n % 2 === 0)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(numbersOf(key.data)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('leaves values that are columns of the keys there', () => {
    const data = tf.tensor2d([1, 2, 3, 4, 5, 6, 7, 8], [4, 2]);
    const key = { data, first: 0, size: 2 };
    const one = { batch: 1, heads: 2, keySize: 2, valueSize: 0 };
    const source = {
      key,
      value: { data, first: 1, size: 1 },
      headStride: 2,
      runs: () => Int32Array.of(1, 1),
    };
    const gathered = gatherRows(one, [source, source], packedLayout(one, [2]));
    expect(gathered.value).toEqual({ data: gathered.key.data, first: 1, size: 1 });
    expect(numbersOf(gathered.key.data)).toEqual([3, 4, 3, 4, 7, 8, 7, 8]);
    const values = gatherColumns(one, [source], { layout: packedLayout(one, [1]), name: 'value' });
    expect(numbersOf(values)).toEqual([4, 8]);
  });

  it('reads rows in any order, of heads whose distance does not divide the rows', () => {
    const one = { ...shape, batch: 1 };
    const rows = numbered({ rows: 7, headStride: 4, first: [0] }, 0, [7]);
    const source = { ...rows, runs: () => Int32Array.of(2, 1, 0, 2) };
    expect(numbersOf(gatherRows(one, [source], packedLayout(one, [3])).key.data)).toEqual([2, 0, 1, 6, 4, 5]);
    const joined = joinColumns(one, [{ ...source, ...source.key }], packedLayout(one, [3]));
    expect(numbersOf(joined)).toEqual([2, 0, 1, 6, 4, 5]);
  });
});

describe('selectTokens', () => {
  it('counts tokens over all parts', () => {
    const parts = sources() as unknown as KeyValuePart[]; // 2 and 1 tokens, then 1 and 2
    const selected = selectTokens(parts, [
      [
        [0, 1],
        [2, 3],
      ],
      [[1, 2]],
    ]);
    const runs = selected.map((part) => [0, 1].map((b) => [...part.runs(b)]));
    expect(runs).toEqual([
      [[0, 1], []],
      [
        [0, 1],
        [6, 1],
      ],
    ]);
  });
});

const space = equalLayout(shape, 3); // head 0 and 1 of entry 0, then of entry 1: three rows each
const cases = {
  'all rows': {
    layout: equalLayout(shape, 1),
    ...{ counts: [1, 1], at: [2, 1], expected: [0, 1, 20, 3, 4, 21, 6, 22, 8, 9, 23, 11] },
  },
  'the tokens that count': {
    layout: equalLayout(shape, 2),
    ...{ counts: [0, 2], at: [3, 1], expected: [0, 1, 2, 3, 4, 5, 6, 24, 25, 9, 26, 27] },
  },
  'rows that lie otherwise': {
    layout: packedLayout(shape, [1, 2]),
    ...{ counts: [1, 2], at: [1, 0], expected: [0, 20, 2, 3, 23, 5, 21, 22, 8, 24, 25, 11] },
  },
  'no row': {
    layout: equalLayout(shape, 1),
    ...{ counts: [0, 0], at: [1, 1], expected: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] },
  },
};

describe.each(Object.entries(cases))('%s', (_, { layout, counts, at, expected }) => {
  const source = () => numbered(layout, 20, counts);
  const target = () => {
    const data = () => tf.reshape<tf.Rank.R2>(tf.range(0, space.rows), [space.rows, 1]);
    const column = () => ({ data: data(), first: 0, size: 1 });
    const { headStride } = space;
    return { key: column(), value: column(), headStride, runs: runsIn(space, counts, at) };
  };

  it('are scattered to their places', () => {
    const [from, to] = [source(), target()];
    const rows = scatterColumns(shape, { ...from, ...from.key }, { ...to, ...to.key });
    expect(numbersOf(rows)).toEqual(expected);
  });

  it('are written at their places, keys and values', () => {
    const { key, value } = writeRows(shape, source(), target());
    expect(numbersOf(key.data)).toEqual(expected);
    expect(numbersOf(value.data)).toEqual(expected.map((number) => (number >= 20 ? -number : number)));
  });
});
