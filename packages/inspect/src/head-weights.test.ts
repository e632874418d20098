import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { headsShape, readHeads } from './head-weights';

/** [B, H, Sq, Skv], counting up. */
const weights = () => tf.reshape<tf.Rank.R4>(tf.range(0, 2 * 3 * 2 * 4), [2, 3, 2, 4]);

describe('readHeads', () => {
  it('reads the heads of one batch entry', async () => {
    const heads = await readHeads(weights(), { entry: 1 });
    expect(headsShape('test', heads)).toEqual([3, 2, 4]);
    expect(heads[0]).toEqual([
      [24, 25, 26, 27],
      [28, 29, 30, 31],
    ]);
    expect((await readHeads(weights()))[0]![0]).toEqual([0, 1, 2, 3]);
  });

  it('reads weights without a batch', async () => {
    const ofEntry = tf.reshape<tf.Rank.R3>(tf.range(0, 24), [3, 2, 4]);
    expect(await readHeads(ofEntry)).toEqual(await readHeads(weights()));
  });

  it('leaves the tensor to the caller, and nothing else in memory', async () => {
    const tensor = weights();
    const before = memoryNow();
    await readHeads(tensor, { entry: 1 });
    expectSameMemory(before);
    expect(tensor.isDisposed).toBe(false);
  });

  it.each([
    [() => weights(), { entry: 2 }, /entry must be one of the batch/],
    [() => weights(), { entry: 0.5 }, /entry must be one of the batch/],
    [() => tf.ones([3, 2, 4]), { entry: 1 }, /entry must be one of the batch/],
    [() => tf.ones([2, 4]), {}, /weights must be \[B, H, Sq, Skv\] or \[H, Sq, Skv\][\s\S]*\[2, 4\]/],
    [() => weights(), { head: 1 }, /unknown +\[head\]/],
    [() => [[[1]]], {}, /weights must be a tensor/],
    [
      () => {
        const gone = tf.ones([3, 2, 4]);
        gone.dispose();
        return gone;
      },
      {},
      /weights must not be disposed/,
    ],
  ])('refuses what it cannot read: %#', async (create, options, message) => {
    await expect(readHeads(create() as never, options as { entry?: number })).rejects.toThrow(message);
  });
});

describe('headsShape', () => {
  it.each([
    [[]],
    [[[]]],
    [[[[]]]],
    [[[[1, 0], [1]]]],
    [
      [
        [[1, 0]],
        [
          [1, 0],
          [1, 0],
        ],
      ],
    ],
    [[[[[1]]]]],
    [null],
    [[null]],
    [[[null]]],
    [[[[0.5, '0.5']]]],
  ])('refuses %j', (heads) => {
    expect(() => headsShape('test', heads as never)).toThrow(/heads must be numbers \[H, Sq, Skv\]/);
  });
});
