import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { blockLabels, blockMeans, checkBeside, readRows } from './row-values';

/** [B, H, Sq], counting up. */
const values = () => tf.reshape<tf.Rank.R3>(tf.range(0, 2 * 3 * 4), [2, 3, 4]);

describe('readRows', () => {
  it('reads the rows of one batch entry, and leaves nothing else in memory', async () => {
    const tensor = values();
    const before = memoryNow();
    const rows = await readRows(tensor, { entry: 1 });
    expectSameMemory(before);
    expect(rows).toEqual([
      [12, 13, 14, 15],
      [16, 17, 18, 19],
      [20, 21, 22, 23],
    ]);
    expect((await readRows(tensor))[2]).toEqual([8, 9, 10, 11]);
    expect(await readRows(tf.tensor2d([[1, 2]]))).toEqual([[1, 2]]);
  });

  it.each([
    [() => values(), { entry: -1 }, /readRows: entry must be one of the batch/],
    [() => tf.ones([2]), {}, /readRows: values must be \[B, H, Sq\] or \[H, Sq\]/],
    [() => values(), { head: 1 }, /unknown +\[head\]/],
    [() => [[1]], {}, /values must be a tensor/],
  ])('refuses what it cannot read: %#', async (create, options, message) => {
    await expect(readRows(create() as never, options as { entry?: number })).rejects.toThrow(message);
  });
});

describe('blocks', () => {
  it('have the mean of their rows, the last ones of those that are left', () => {
    const rows = [
      [1, 3, 5, 7, 10],
      [0, 0, Number.NaN, 2, 4],
    ];
    expect(blockMeans(rows, 2)).toEqual([
      [2, 6, 10],
      [0, Number.NaN, 4],
    ]);
    expect(blockMeans(rows, 9)).toEqual([[5.2], [Number.NaN]]);
    expect(blockMeans([[]], 2)).toEqual([[]]);
  });

  it('are labelled by the place of their first token', () => {
    expect(blockLabels(150, 64)).toEqual(['0', '64', '128']);
    expect(blockLabels(128, 64)).toEqual(['0', '64']);
  });

  it('hold something, and are blocks of numbers', () => {
    expect(() => blockLabels(0, 4)).toThrow(/blockLabels: tokens must be a whole number above 0/);
    expect(() => blockLabels(4, 0)).toThrow(/blockLabels: size must be a whole number above 0/);
    expect(() => blockMeans([[1]], 0.5)).toThrow(/blockMeans: size must be a whole number above 0/);
    expect(() => blockMeans([1] as never, 2)).toThrow(/blockMeans: rows must be numbers \[H, Sq\]/);
  });
});

describe('checkBeside', () => {
  it.each([
    [null, /beside must be numbers by name/],
    [[[1, 2]], /beside must be numbers by name/],
    [
      { entropy: [[1, 2]] },
      /entropy must have a number for each row of each head[\s\S]*\[1, 2\][\s\S]*\[2, 2\]/,
    ],
    [{ entropy: [[1, 2], [1]] }, /entropy must have a number/],
    [{ entropy: [1, 2] }, /entropy must have a number/],
    [
      {
        entropy: [
          ['1', '2'],
          [1, 2],
        ],
      },
      /entropy must have a number/,
    ],
  ])('refuses %j for two heads of two rows', (beside, message) => {
    expect(() => checkBeside('test', beside as never, [2, 2, 5])).toThrow(message);
  });
});
