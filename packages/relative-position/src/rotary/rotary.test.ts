import {
  expectFlatHeap,
  expectSameMemory,
  memoryNow,
  numbersOf,
  toHost,
  useOpaqueBackend,
} from '@polyhead/conformance';
import type { PositionMethod, TokenPositions } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type RotaryConfig, rotary } from '../index';

const random = (shape: [number, number, number, number], seed = 1) =>
  tf.randomNormal<tf.Rank.R4>(shape, 0, 1, 'float32', seed);

const turn = (method: PositionMethod, heads: tf.Tensor4D, ...at: TokenPositions[]) =>
  method.rotate!(heads, 'query', at);

/** The definition, in doubles: pair p at the position of its section. */
function byDefinition(
  heads: tf.Tensor4D,
  { rotaryDim, base = 10_000, interleaved = false }: Partial<RotaryConfig>,
  positionOf: (b: number, s: number, pair: number) => number,
): number[] {
  const [, H, S, D] = heads.shape;
  const pairs = (rotaryDim ?? D) / 2;
  const numbers = numbersOf(heads);
  const result = [...numbers];
  for (let row = 0; row * D < numbers.length; row++) {
    for (let p = 0; p < pairs; p++) {
      const [one, other] = interleaved ? [2 * p, 2 * p + 1] : [p, p + pairs];
      const angle = positionOf(Math.floor(row / (H * S)), row % S, p) * base ** (-p / pairs);
      const [x, y] = [numbers[row * D + one]!, numbers[row * D + other]!];
      result[row * D + one] = x * Math.cos(angle) - y * Math.sin(angle);
      result[row * D + other] = y * Math.cos(angle) + x * Math.sin(angle);
    }
  }
  return result;
}

function expectNear(actual: tf.Tensor, expected: readonly number[], tolerance = 1e-6) {
  const worst = numbersOf(actual).reduce((most, x, n) => Math.max(most, Math.abs(x - expected[n]!)), 0);
  expect(actual.size).toBe(expected.length);
  expect(worst).toBeLessThan(tolerance);
}

const forms: readonly Partial<RotaryConfig>[] = [
  {},
  { interleaved: true },
  { rotaryDim: 4 },
  { rotaryDim: 4, interleaved: true, base: 500 },
];

describe('rotary', () => {
  it.each(forms)('equals its definition at a start for each batch entry: %j', (form) => {
    const heads = random([2, 3, 5, 6]);
    const expected = byDefinition(heads, form, (b, s) => [4, 9][b]! + s);
    expectNear(turn(rotary({ headDim: 6, ...form }), heads, { start: [4, 9] }), expected);
  });

  it.each(forms)('equals its definition at positions given one by one: %j', (form) => {
    const each = Int32Array.of(7, 0, 3, 3, 1, 9, 2, 0, 5, 6);
    const heads = random([2, 3, 5, 6]);
    const expected = byDefinition(heads, form, (b, s) => each[b * 5 + s]!);
    expectNear(turn(rotary({ headDim: 6, ...form }), heads, { each }), expected);
  });

  it.each(forms)('turns a gradient back: %j', (form) => {
    const method = rotary({ headDim: 6, ...form });
    const [x, g] = [random([2, 3, 5, 6]), random([2, 3, 5, 6], 2)];
    const at = { start: [4, 9] };
    const gradient = tf.grad((heads) => tf.sum(tf.mul(turn(method, heads as tf.Tensor4D, at), g)))(x);
    // The transpose of a rotation is the rotation by the opposite angle.
    expectNear(
      gradient,
      byDefinition(g, form, (b, s) => -([4, 9][b]! + s)),
    );
  });

  it('is exact to 1e-6 at position 100,000', () => {
    const heads = random([1, 2, 3, 128]);
    expectNear(
      turn(rotary({ headDim: 128 }), heads, { start: [100_000] }),
      byDefinition(heads, {}, (_b, s) => 100_000 + s),
    );
  });

  it('turns each section by its own position, and all by one where there is one', () => {
    const sections = [1, 3, 2];
    const method = rotary({ headDim: 12, sections });
    const heads = random([2, 2, 3, 12]);
    const [time, height, width] = [
      { start: [2] },
      { each: Int32Array.of(5, 6, 7, 1, 1, 1) },
      { each: Int32Array.of(0, 3, 4) },
    ] as const;
    const positionOf = (b: number, s: number, pair: number) => {
      if (pair < 1) return 2 + s;
      return pair < 4 ? height.each[b * 3 + s]! : width.each[s]!;
    };
    expectNear(turn(method, heads, time, height, width), byDefinition(heads, {}, positionOf));
    expectNear(
      turn(method, heads, time),
      byDefinition(heads, {}, (_b, s) => 2 + s),
    );
    expect(() => turn(method, heads, time, height)).toThrow(/one position, or one for each section/);
  });

  it('remembers angles only where tokens stand at the same places', () => {
    const method = rotary({ headDim: 4 });
    const heads = random([1, 1, 2, 4]);
    const at = (start: number) => numbersOf(turn(method, heads, { start: [start] }));
    const first = at(0);
    expect(at(1)).not.toEqual(first);
    expect(at(0)).toEqual(first);
    const longer = turn(method, random([1, 1, 3, 4]), { start: [0] });
    expect(longer.shape).toEqual([1, 1, 3, 4]);
    expect(numbersOf(turn(method, heads, { each: Int32Array.of(0, 1) }))).toEqual(first);
  });

  it('is the same where tensors cannot be reached', async () => {
    const numbers = () =>
      forms.map((form) => {
        const heads = random([2, 3, 5, 6]);
        const g = tf.grad((x) =>
          tf.sum(tf.square(turn(rotary({ headDim: 6, ...form }), x as tf.Tensor4D, { start: [3, 1] }))),
        );
        return [turn(rotary({ headDim: 6, ...form }), heads, { start: [3, 1] }), g(heads)].flatMap(numbersOf);
      });
    const here = numbers();
    const back = await useOpaqueBackend();
    const there = numbers();
    await back();
    here.forEach((some, n) => {
      expect(there[n]).toEqual(some.map((x) => expect.closeTo(x, 5)));
    });
  });

  it('leaves its result and nothing else, also in a gradient', () => {
    const method = rotary({ headDim: 8, rotaryDim: 4 });
    const heads = random([1, 2, 64, 8]);
    const before = memoryNow();
    expectFlatHeap(() => {
      turn(method, heads, { start: [0] });
      tf.grad((x) => tf.sum(turn(method, x as tf.Tensor4D, { start: [0] })))(heads);
    }, 50);
    const result = turn(method, heads, { start: [0] });
    expect(tf.memory().numTensors).toBe(before.numTensors + 1);
    result.dispose();
    expectSameMemory(before);
    method.dispose();
  });

  it('takes heads without tokens', () => {
    expect(turn(rotary({ headDim: 4 }), tf.zeros([2, 3, 0, 4]), { start: [0] }).shape).toEqual([2, 3, 0, 4]);
  });

  it('has a config of plain JSON that makes the same method again', () => {
    const config: RotaryConfig = { headDim: 6, rotaryDim: 4, scaling: { type: 'linear', factor: 2 } };
    const method = rotary(config);
    const again = rotary(JSON.parse(JSON.stringify(method.config)));
    const heads = random([1, 1, 3, 6]);
    expect(toHost(turn(again, heads, { start: [7] }))).toEqual(toHost(turn(method, heads, { start: [7] })));
    expect(method.variables).toEqual([]);
  });

  it.each<[object, RegExp]>([
    [{ headDim: 6, base: 1 }, /base must be a number above 1/],
    [{ headDim: 6, sections: [1, 1] }, /sections must sum to rotaryDim \/ 2 pairs/],
    [{ headDim: 6, sections: [0, 3] }, /sections\[0\] must be a whole number above 0/],
    [{ headDim: 6, sections: 2 }, /sections must be a list/],
    [{ headDim: 6, interleaved: 1 }, /interleaved must be true or false/],
    [{ headDim: 6, theta: 500 }, /unknown +\[theta\]/],
    [{ headDim: 6, scaling: { type: 'magic' } }, /scaling.type must be one of linear, ntk/],
    [{ headDim: 6, scaling: { type: 'yarn', factor: 2 } }, /missing +\[originalLength\]/],
    [{ headDim: 6, scaling: { type: 'linear', factor: -1 } }, /scaling.factor must be a number above 0/],
    [{ headDim: 6, scaling: { type: 'linear', factor: 2, length: 3 } }, /unknown +\[length\]/],
    [
      {
        headDim: 6,
        scaling: {
          type: 'longrope',
          factor: 2,
          originalLength: 8,
          shortFactors: [1, 1],
          longFactors: [1, 1, 1],
        },
      },
      /scaling.shortFactors must have a number above 0 for each pair/,
    ],
    [
      {
        headDim: 6,
        scaling: {
          type: 'llama3',
          factor: 2,
          originalLength: 8,
          lowFrequencyFactor: 4,
          highFrequencyFactor: 4,
        },
      },
      /highFrequencyFactor must be above lowFrequencyFactor/,
    ],
  ])('refuses %j', (config, message) => {
    expect(() => rotary(config as RotaryConfig)).toThrow(message);
  });

  it('refuses heads of another size, and positions that do not fit', () => {
    const method = rotary({ headDim: 4 });
    expect(() => turn(method, tf.zeros([1, 1, 2, 6]), { start: [0] })).toThrow(/headDim wide/);
    expect(() => turn(method, tf.zeros([3, 1, 2, 4]), { start: [0, 1] })).toThrow(
      /positions\[0\].start must have one number, or one for each batch entry/,
    );
    expect(() => turn(method, tf.zeros([1, 1, 2, 4]), { each: Int32Array.of(1) })).toThrow(
      /positions\[0\].each must have one number for each token/,
    );
  });
});
