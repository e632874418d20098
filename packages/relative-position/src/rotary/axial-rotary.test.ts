import { numbersOf, toHost } from '@polyhead/conformance';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type AxialRotaryConfig, axialRotary, gridPositions, rotary } from '../index';

const random = (shape: [number, number, number, number]) =>
  tf.randomNormal<tf.Rank.R4>(shape, 0, 1, 'float32', 1);

describe('axialRotary', () => {
  it.each([false, true])('turns half of the pairs by y and half by x: interleaved %s', (interleaved) => {
    const [H, W, D] = [3, 4, 8];
    const heads = random([1, 2, H * W, D]);
    const turned = toHost(
      axialRotary({ headDim: D, base: 100, interleaved }).rotate!(heads, 'query', gridPositions([H, W])),
    );
    const numbers = numbersOf(heads);
    for (let n = 0; n < turned.length; n += D) {
      const patch = (n / D) % (H * W);
      for (let pair = 0; pair < 4; pair++) {
        const place = pair < 2 ? Math.floor(patch / W) : patch % W;
        const angle = place * [1, 0.1, 1, 0.1][pair]!; // 100^(-2i / 4) of each half
        const [one, other] = interleaved ? [2 * pair, 2 * pair + 1] : [pair, pair + 4];
        const [x, y] = [numbers[n + one]!, numbers[n + other]!];
        expect(turned[n + one]).toBeCloseTo(x * Math.cos(angle) - y * Math.sin(angle), 5);
        expect(turned[n + other]).toBeCloseTo(y * Math.cos(angle) + x * Math.sin(angle), 5);
      }
    }
  });

  it('makes scores depend on offsets alone: an image moved gives the same weights', () => {
    const layer = new MultiHeadAttention(
      { embedDim: 8, numHeads: 1, seed: 1 },
      { position: axialRotary({ headDim: 8 }) },
    );
    const query = tf.randomNormal<tf.Rank.R3>([1, 6, 8], 0, 1, 'float32', 2);
    const [y, x] = gridPositions([2, 3]) as { each: Int32Array }[];
    const moved = [{ each: y!.each.map((p) => p + 40) }, { each: x!.each.map((p) => p + 7) }];
    const weightsAt = (positions: { each: Int32Array }[]) =>
      numbersOf(layer.apply({ query }, { positions, returns: ['weights'] }).weights!);
    expect(weightsAt(moved)).toEqual(weightsAt([y!, x!]).map((weight) => expect.closeTo(weight, 5)));
    layer.dispose();
  });

  it('equals rotary sections of the same positions at one frequency', () => {
    const heads = random([2, 1, 4, 4]); // one pair for each axis, both of frequency 1
    const positions = gridPositions([2, 2]);
    const axial = axialRotary({ headDim: 4 }).rotate!(heads, 'key', positions);
    const sections = rotary({ headDim: 4, sections: [1, 1], base: 1 + 1e-12 }).rotate!(
      heads,
      'key',
      positions,
    );
    expect(numbersOf(axial)).toEqual(numbersOf(sections).map((x) => expect.closeTo(x, 5)));
  });

  it('refuses one position for both axes, and heads that do not divide', () => {
    const method = axialRotary({ headDim: 4 });
    expect(() => method.rotate!(random([1, 1, 4, 4]), 'query', [{ start: [0] }])).toThrow(
      /a token must have a position for each section\n +positions +1\n +sections +2/,
    );
    expect(() => axialRotary({ headDim: 2 ** 26 })).toThrow(/headDim must be at most 1048576/);
    expect(() => axialRotary({ headDim: 6 })).toThrow(/headDim must be a multiple of 4/);
    expect(() => axialRotary({ headDim: 4, base: 0 })).toThrow(/base must be a number above 1/);
    expect(() => axialRotary({ headDim: 4, width: 3 } as AxialRotaryConfig)).toThrow(/unknown +\[width\]/);
    expect(() => gridPositions([2, 0])).toThrow(/width must be a whole number above 0/);
    expect(() => gridPositions(3 as unknown as [number, number])).toThrow(/grid must be \[height, width\]/);
  });
});
