// Swin's window bias against a loop over its published index.
import { expectClose, numbersOf, seededRandom, toHost } from '@polyhead/conformance';
import { dense } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type SwinConfig, swin, windowPositions } from './index';

const window = [2, 3] as const;
const tokens = 6;

/** The bias [Hq, tokens, tokens] by the published index: offsets query - key, both made to start at 0. */
function biasByLoops(table: tf.Tensor): number[] {
  const [R, H] = table.shape as [number, number];
  const numbers = numbersOf(table);
  const [h, w] = window;
  expect(R).toBe((2 * h - 1) * (2 * w - 1));
  return Array.from({ length: H * tokens * tokens }, (_, n) => {
    const [head, i, j] = [Math.floor(n / tokens ** 2), Math.floor(n / tokens) % tokens, n % tokens];
    const y = Math.floor(i / w) - Math.floor(j / w) + h - 1;
    const x = (i % w) - (j % w) + w - 1;
    return numbers[(y * (2 * w - 1) + x) * H + head]!;
  });
}

describe('swin', () => {
  it('adds the number of both offsets, for all windows of a batch, with pairs hidden where windows are shifted', () => {
    const position = swin({ window, numHeads: 2, seed: 4 });
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 }, { position });
    const plain = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 });
    const query = tf.randomNormal<tf.Rank.R3>([3, tokens, 4], 0, 1, 'float32', 2);
    const bias = tf.tensor4d(biasByLoops(position.getWeights().table!), [1, 2, tokens, tokens]);
    const random = seededRandom(3);
    const shown = Array.from({ length: 3 * tokens * tokens }, (_, n) =>
      Number(n % tokens === 0 || random() < 0.6),
    );
    for (const mask of [undefined, dense(tf.tensor4d(shown, [3, 1, tokens, tokens], 'int32'))]) {
      const call = mask ? { mask } : {};
      const { output } = layer.apply({ query }, { ...call, positions: windowPositions(window) });
      const expected = plain.apply({ query }, { ...call, bias });
      expectClose({ actual: { output: toHost(output) }, expected: { output: toHost(expected.output) } });
    }
    for (const each of [layer, plain, position]) each.dispose();
  });

  it('trains each number of its table as often as its offset occurs', () => {
    const position = swin({ window, numHeads: 2, seed: 4 });
    const { name, variable } = position.variables[0]!;
    expect([name, variable.shape]).toEqual(['table', [15, 2]]);
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, seed: 1 }, { position });
    const query = tf.randomNormal<tf.Rank.R3>([1, tokens, 4], 0, 1, 'float32', 2);
    const call = { positions: windowPositions(window) };
    const { grads } = tf.variableGrads(
      () => tf.sum(tf.square(layer.apply({ query }, call).output)),
      [variable],
    );
    expect(numbersOf(grads[variable.name]!).every((x) => x !== 0)).toBe(true);
    layer.dispose();
    position.dispose();
  });

  it('refuses positions that are not those of its window', () => {
    const position = swin({ window, numHeads: 2 });
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2 }, { position });
    const query = tf.zeros<tf.Rank.R3>([1, tokens, 4]);
    expect(() => layer.apply({ query })).toThrow(
      /those of windowPositions\(window\)[\s\S]*-5 to 5, not -7 to 7/,
    );
    expect(() => layer.apply({ query: tf.zeros([1, 9, 4]) }, { positions: windowPositions([3, 3]) })).toThrow(
      /not -7 to 7/,
    );
    layer.dispose();
    position.dispose();
  });

  it('has positions for a height and a width only', () => {
    expect(() => windowPositions(3 as unknown as [number, number])).toThrow(
      /window must be \[height, width\]/,
    );
  });

  it.each<[object, RegExp]>([
    [{ window: [0, 2] }, /window height must be a whole number above 0/],
    [{ window: [2] }, /window must be \[height, width\]/],
    [{ window: undefined }, /window must be \[height, width\]/],
    [{ window: 3 }, /window must be \[height, width\]/],
    [{ window: [2, 2, 2] }, /window must be \[height, width\]/],
    [{ numHeads: 1.5 }, /numHeads must be a whole number above 0/],
    [{ shift: 1 }, /unknown +\[shift\]/],
  ])('refuses %j', (config, message) => {
    expect(() => swin({ window, numHeads: 2, ...config } as SwinConfig)).toThrow(message);
  });
});
