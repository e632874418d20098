import { numbersOf } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { assembleByOps } from './assemble-by-ops';
import { assembleRows } from './assemble-rows';
import { copyRows } from './copy-rows';
import { reachesFloats } from './floats';
import { equalRoom, packed, type RowLayout } from './row-layout';

const shape = { batch: 2, heads: 2, keySize: 1, valueSize: 1 };

/** Rows numbered from `first` on, as they lie. */
const numbered = (layout: RowLayout, first: number) =>
  tf.reshape<tf.Rank.R2>(tf.range(first, first + layout.rows), [layout.rows, 1]);

/** By hand: batch entry 0 has tokens a b, then x; batch entry 1 has token c, then y z. */
const old = packed(shape, [2, 1]); // head 0: 0 1 | 2, head 1: 3 4 | 5
const fresh = equalRoom(shape, 3); // 10 11 12 | 13 14 15 || 16 17 18 | 19 20 21
const sources = () => [
  { data: numbered(old, 0), layout: old, counts: [2, 1] },
  { data: numbered(fresh, 10), layout: fresh, counts: [1, 2] },
];

const targets: [string, RowLayout, number[]][] = [
  ['packed', packed(shape, [3, 3]), [0, 1, 10, 2, 16, 17, 3, 4, 13, 5, 19, 20]],
  ['with just enough room', equalRoom(shape, 3), [0, 1, 10, 3, 4, 13, 2, 16, 17, 5, 19, 20]],
  ['with more room', equalRoom(shape, 4), [0, 1, 10, 0, 3, 4, 13, 0, 2, 16, 17, 0, 5, 19, 20, 0]],
];

describe.each(targets)('rows assembled %s', (_, target, expected) => {
  it('stand behind one another in each head, by either way', () => {
    const keyValues = sources().map((source) => ({ ...source, key: source.data, value: source.data }));
    const { key, value, layout } = assembleRows(shape, keyValues, target);
    expect(layout).toBe(target);
    expect(key.shape).toEqual([expected.length, 1]);
    for (const rows of [key, value, assembleByOps(sources(), target, 1)])
      expect(numbersOf(rows)).toEqual(expected);
  });
});

describe('rows assembled of one source', () => {
  it('are a copy', ({ skip }) => {
    skip(!reachesFloats(), 'no tensor can be changed here');
    const layout = equalRoom({ ...shape, batch: 1 }, 3);
    const source = { data: numbered(layout, 0), layout, counts: [3] };
    const { key } = assembleRows(
      { ...shape, batch: 1 },
      [{ ...source, key: source.data, value: source.data }],
      layout,
    );
    copyRows({ ...source, data: tf.zeros([6, 1]) }, { ...source, at: [0] });
    expect(numbersOf(source.data)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(numbersOf(key)).toEqual([0, 1, 2, 3, 4, 5]);
  });
});
